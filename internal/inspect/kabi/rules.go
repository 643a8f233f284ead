package kabi

import (
	"cmp"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// judge decides which changes are compatible.
type judge struct {
	a, b       *layouts
	containers map[uint32]string // of A
}

func newJudge(a, b *btf.Blob) *judge {
	j := &judge{a: newLayouts(a), b: newLayouts(b)}
	j.containers = containers(j.a)
	return j
}

// difference decides about each change of a difference, and so about the difference.
func (j *judge) difference(d *diff.Difference) {
	d.Compatible = true
	switch d.Class {
	case diff.OnlyA:
		d.Compatible = false
	case diff.OnlyB:
		d.Compatible = d.FollowUps == 0 // else a symbol reaches a different definition
	}
	for i := range d.Changes {
		c := &d.Changes[i]
		c.Breaks, c.Reason = j.change(c)
		d.Compatible = d.Compatible && !c.Breaks
	}
}

// change decides whether a change breaks modules that were compiled for A, and says why.
// Rule: kABI: which changes are compatible. Source: libabigail harmless_filter; kernel
// Documentation/kbuild/gendwarfksyms.rst.
func (j *judge) change(c *diff.Change) (breaks bool, reason string) {
	t, _ := j.a.ByID(c.Part.In[0])
	u, _ := j.b.ByID(c.Part.In[1])
	if t == nil || u == nil {
		return c.Breaks, ""
	}
	switch {
	case c.Kind == diff.Size:
		return j.size(c, t, u)
	case c.Kind == diff.Declared:
		if declares(j.a.Blob, c.Part.Types[0]) {
			return false, "A only declares it"
		}
		return true, "B only declares it, so its content can't be compared"
	case c.Kind == diff.Retyped:
		if why := j.alike(c.Part.Types[0], c.Part.Types[1]); why != "" {
			return false, why
		}
	case c.Kind == diff.Encoding && t.Kind == btf.KindInt:
		return true, "its values are read differently"
	}
	if t.Kind.IsComposite() {
		return j.member(c, t, u)
	}
	if !c.Breaks {
		return false, harmless[c.Kind]
	}
	return true, harmful[c.Kind]
}

// harmless and harmful are the reasons for which changes are compatible or not, if there is nothing
// to say about the type in particular.
var (
	harmless = map[diff.ChangeKind]string{
		diff.Added:     "one more",
		diff.Renamed:   "only the name differs",
		diff.Moved:     "same offset",
		diff.Reordered: "only the order in the source differs",
		diff.Encoding:  "same bits",
	}
	harmful = map[diff.ChangeKind]string{
		diff.Added:   "callers don't pass it",
		diff.Removed: "gone",
		diff.Moved:   "in a different place",
		diff.Resized: "different size",
		diff.Retyped: "different type",
		diff.Value:   "different value",
	}
)

// member decides about a change of a member of t, which is u in B.
func (j *judge) member(c *diff.Change, t, u *btf.Type) (breaks bool, reason string) {
	names := c.Part.Names
	switch {
	case c.Kind == diff.Added && c.After.Place != nil:
		return false, j.room(c, t, u)
	case isReserved(names[0]) && c.Breaks:
		return false, "reserved space, which nobody uses"
	case c.Breaks && c.Before != nil && c.Before.Place != nil:
		if name := j.original(c); name != "" {
			return false, "the original is kept as " + message.Printable(name)
		}
	}
	if !c.Breaks {
		return false, harmless[c.Kind]
	}
	return true, harmful[c.Kind]
}

// room says where B has found room for a new member.
func (j *judge) room(c *diff.Change, t, u *btf.Type) string {
	from := c.After.BitOffset
	end := from + uint64(c.After.Bits)
	if c.After.Bits == 0 {
		end += 8 * c.After.Bytes
	}
	if u.Kind == btf.KindUnion {
		return "one more member of a union"
	}
	shared, last := "", uint64(0)
	onlyReserved := true
	for _, f := range j.a.fields(c.Part.In[0]) {
		last = max(last, f.end)
		if f.off < end && from < f.end {
			shared = cmp.Or(shared, f.name, "a member without a name")
			onlyReserved = onlyReserved && isReserved(f.name)
		}
	}
	switch {
	case shared != "" && onlyReserved:
		return "in reserved space"
	case shared != "":
		return "in the place of " + message.Printable(shared)
	case isReserved(c.Part.Names[1]):
		return "reserved space"
	case end > 8*uint64(t.SizeOrType):
		return "at the end"
	case from >= last:
		return "in the padding at the end"
	}
	return "in a hole"
}

// original returns the name under which B keeps a member that has been replaced, or "".
func (j *judge) original(c *diff.Change) string {
	end := c.Before.BitOffset + uint64(c.Before.Bits)
	if c.Before.Bits == 0 {
		end += 8 * c.Before.Bytes
	}
	for _, f := range j.b.fields(c.Part.In[1]) {
		if f.off == c.Before.BitOffset && f.end == end && f.isOriginal(c.Part.Names[0]) &&
			j.alike(c.Part.Types[0], f.typ) != "" {
			return f.name
		}
	}
	return ""
}

// size decides about a different size of t, which is u in B.
func (j *judge) size(c *diff.Change, t, u *btf.Type) (breaks bool, reason string) {
	switch user := j.containers[c.Part.In[0]]; {
	case !t.Kind.IsComposite():
		return true, "different size"
	case u.SizeOrType < t.SizeOrType:
		return true, "smaller"
	case user != "":
		return true, fmt.Sprintf("larger, and %s contains it", message.Printable(user))
	}
	return false, "larger, but no type contains it (modules must not allocate it)"
}

// declares reports whether a type is the declaration of a struct or union, or a pointer or array to
// such a declaration.
func declares(b *btf.Blob, id uint32) bool {
	for range btf.MaxModifiers {
		_, t := unqualified(b, id)
		switch {
		case t == nil:
			return false
		case t.Kind == btf.KindPtr:
			id = t.SizeOrType
		case t.Kind == btf.KindArray:
			id = b.ArrayOf(t).Elem
		default:
			return t.Kind == btf.KindFwd
		}
	}
	return false
}
