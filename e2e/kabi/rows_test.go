package kabi

import (
	"slices"
	"strings"
)

// row explains a kind of changes about which the tools disagree.
type row struct {
	ours   string   // how the text of our change begins
	theirs []string // what abidiff may list for such a change
	why    string
}

// tolerated are changes that are compatible for us, although abidiff lists them.
var tolerated = []row{
	{"added in a hole", []string{"member insertion"}, fillsHole},
	{"added in the padding", []string{"member insertion"}, fillsHole},
	{"added at the end", []string{"member insertion", "size changed"}, grows},
	{"added one more member of a union", []string{"member insertion", "size changed"}, grows},
	{"added one more member of a union",
		[]string{"member deletion", "entity changed", "name changed"},
		"abidiff mixes up members of a union that were added or renamed"},
	{"size larger, but no type contains it", []string{"size changed"}, grows},
	{"added in reserved space", []string{"member insertion", "entity changed", "name changed",
		"offset changed", "size changed"}, reserved},
	{"moved reserved space",
		[]string{"offset changed", "size changed", "member deletion"}, reserved},
	{"resized reserved space", []string{"size changed"}, reserved},
	{"retyped reserved space",
		[]string{"name changed", "entity changed", "size changed"}, reserved},
	{"removed reserved space", []string{"member deletion"}, reserved},
	{"retyped it was a pointer to void",
		[]string{"name changed", "entity changed", "size changed", "member deletion"},
		"in a callback or union, abidiff lists what it calls harmless elsewhere"},
	{"retyped only qualifiers or names differ", []string{"entity changed"},
		"abidiff lists a const if what it qualifies has changed, even if that is harmless"},
}

// stricter are changes that are incompatible for us, but harmless for abidiff.
var stricter = []row{
	{"", []string{"was replaced"}, anonymous},
	{"value different value", nil, anonymous},
	{"retyped different type", nil, sameSize},
	{"removed gone", []string{"member deletion"}, "a union without one of its members"},
	{"removed gone", nil, renamed},
	{"added callers don't pass it", nil, renamed},
	{"resized different size", nil, "abidiff doesn't compare the widths of bit-fields"},
	{"declared B only declares it", nil, "the content can't be compared"},
}

const (
	fillsHole = "a new member moves no other"
	grows     = "a struct or union that no other contains grows"
	reserved  = "abidiff doesn't know the names of reserved members"
	sameSize  = "abidiff doesn't compare types of the same size, or what pointers refer to"
	renamed   = "with another name and another type, one is removed and one is added"
	anonymous = "abidiff doesn't look into a member that is in an anonymous union or struct now"
	noReason  = "abidiff lists a symbol without a change"
	invisible = "BTF doesn't show that a function or variable is no longer exported"
)

// agree is the explanation of a pair about which both tools agree.
const agree = "agree"

// explain returns why the tools disagree about a pair; "" if no row explains it.
func explain(p judged) string {
	breaks := p.ours.verdict == incompatible
	lists := p.theirs.verdict == incompatible || p.theirs.verdict == review
	switch {
	case breaks == lists:
		return agree
	case breaks:
		return p.stricter()
	case slices.Equal(p.theirs.changes, []string{"removed"}):
		return invisible
	case len(p.theirs.changes) == 0 && p.ours.verdict == harmless:
		return noReason
	}
	return p.tolerated()
}

// tolerated finds rows that explain each change that abidiff lists.
func (p judged) tolerated() string {
	why, left := "", slices.Clone(p.theirs.changes)
	for _, r := range tolerated {
		if !slices.ContainsFunc(p.ours.changes, r.matches) {
			continue
		}
		before := len(left)
		left = slices.DeleteFunc(left, func(s string) bool { return slices.Contains(r.theirs, s) })
		if len(left) < before {
			why = r.why
		}
	}
	if len(left) > 0 {
		return ""
	}
	return why
}

// stricter finds a row for each of our changes.
func (p judged) stricter() string {
	why := ""
	for _, c := range p.ours.changes {
		i := slices.IndexFunc(stricter, func(r row) bool {
			return r.matches(c) && (r.theirs == nil || slices.ContainsFunc(r.theirs,
				func(s string) bool { return slices.Contains(p.theirs.changes, s) }))
		})
		if i < 0 {
			return ""
		}
		why = stricter[i].why
	}
	return why
}

func (r row) matches(change string) bool { return strings.HasPrefix(change, r.ours) }
