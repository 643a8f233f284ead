package inline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Differences compares the sites in BTF with those that the reader found. Each element of the
// result is a kind of difference, with its number and an example.
func Differences(truth, have []*Site) []string {
	type key struct {
		section  string
		offset   uint64
		function string
	}
	type pair struct{ truth, have []*Site }
	all := map[key]*pair{}
	at := func(s *Site) *pair {
		k := key{s.Section, s.Offset, s.Function}
		if all[k] == nil {
			all[k] = &pair{}
		}
		return all[k]
	}
	for _, s := range truth {
		at(s).truth = append(at(s).truth, s)
	}
	for _, s := range have {
		at(s).have = append(at(s).have, s)
	}
	kinds := map[string][]string{} // examples
	add := func(kind, example string) { kinds[kind] = append(kinds[kind], example) }
	for _, p := range all {
		truth, have := without(p.truth, p.have), without(p.have, p.truth)
		for _, kind := range otherSizes(p.truth, p.have) {
			add(kind, p.truth[0].String())
		}
		for i := range min(len(truth), len(have)) {
			for _, kind := range differ(truth[i], have[i]) {
				add(kind, truth[i].String()+"\n    BTF: "+have[i].String())
			}
		}
		for _, s := range truth[min(len(truth), len(have)):] {
			add("a site that the BTF lacks", s.String())
		}
		for _, s := range have[min(len(truth), len(have)):] {
			add("a site that only the BTF has", s.String())
		}
	}
	var lines []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		lines = append(lines, fmt.Sprintf("%d × %s, such as\n         %s", len(kinds[kind]), kind,
			slices.Min(kinds[kind])))
	}
	return lines
}

// without returns the sites of a whose lines aren't in b.
func without(a, b []*Site) []*Site {
	var rest []*Site
	for _, s := range a {
		if !slices.ContainsFunc(b, func(t *Site) bool { return s.String() == t.String() }) {
			rest = append(rest, s)
		}
	}
	return rest
}

// differ describes how the parameters of two sites differ.
func differ(truth, have *Site) (kinds []string) {
	if len(truth.Params) != len(have.Params) {
		return []string{"a different number of parameters"}
	}
	for i, p := range truth.Params {
		if h := have.Params[i]; h.Text != p.Text {
			kind := fmt.Sprintf("%s instead of %s", class(h), class(p))
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

// otherSizes describes the parameters whose sizes differ. The sizes are the function's, so they are
// the same at all sites with one address; but functions with the same name may differ.
func otherSizes(truth, have []*Site) (kinds []string) {
	for _, h := range have {
		for i, p := range h.Params {
			if p.Text != "?" && !slices.ContainsFunc(truth, func(s *Site) bool {
				return i < len(s.Params) && s.Params[i].Size == p.Size
			}) && len(truth) > 0 {
				kinds = append(kinds, fmt.Sprintf("a parameter with size %d", p.Size))
			}
		}
	}
	return kinds
}

// class is the form of a parameter without numbers, with the cause if it is unknown.
func class(p Param) string {
	form, rest, _ := strings.Cut(p.Text, " ")
	switch {
	case p.Cause != "":
		return fmt.Sprintf("? (%s)", p.Cause)
	case strings.ContainsAny(rest, "+-"):
		return form + "+OFF"
	}
	return form
}
