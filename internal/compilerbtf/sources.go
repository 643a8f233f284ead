package compilerbtf

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/btf"
)

// matchSources finds out for each blob which STT_FILE its local symbols follow.
//
// Linkers put blobs and STT_FILEs in the order of their inputs, but not every input has both: an
// assembler's has no blob, and a linker's own has no file. So a static function or variable that one
// blob alone defines, and one source alone has a symbol of, ties the two together. Between two ties
// with as many blobs as sources the rest follow in order. What is left stays unknown: then the local
// symbols of all sources count.
func (w *work) matchSources(parts []part) error {
	for i := range parts {
		parts[i].source = sourceUnknown
	}
	if !w.symbols.groups {
		for i := range parts {
			parts[i].source = 0
		}
		return nil
	}
	var groups []int // of STT_FILEs with a name
	for i, name := range w.symbols.sources {
		if name != "" {
			groups = append(groups, i)
		}
	}
	ties, err := w.ties(parts, groups)
	if err != nil {
		return err
	}
	ties = append(ties, tie{len(parts), len(groups), 1})
	before := tie{-1, -1, 1}
	for _, t := range ties {
		if t.blob < len(parts) {
			parts[t.blob].source = groups[t.group]
		}
		if t.blob-before.blob == t.group-before.group {
			for i := before.blob + 1; i < t.blob; i++ {
				parts[i].source = groups[before.group+i-before.blob]
			}
		}
		before = t
	}
	return nil
}

// tie says that a blob belongs to a source, both counted from 0.
type tie struct{ blob, group, votes int }

// ties returns which blobs belong to which sources by their static names, in order.
func (w *work) ties(parts []part, groups []int) ([]tie, error) {
	const several = -1
	owner := map[string]int{} // of a static name: the blob
	var b btf.Blob
	for i := range parts {
		names, err := b.ParseTypes(parts[i].data)
		if err != nil {
			return nil, w.name(&parts[i], err)
		}
		b.Strings = string(names)
		for j := range b.Types {
			t := &b.Types[j]
			static := t.Kind == btf.KindFunc && t.Vlen == btf.LinkageStatic ||
				t.Kind == btf.KindVar && t.Extra == btf.LinkageStatic
			name := b.TypeName(t)
			if !static || name == "" {
				continue
			}
			if first, ok := owner[name]; ok && first != i {
				owner[name] = several
			} else if !ok {
				owner[name] = i
			}
		}
	}
	place := map[int]int{} // of a group: its place in groups
	for i, group := range groups {
		place[group] = i
	}
	sources := map[string]int{} // of a local symbol's name: the place of its group
	note := func(s symbol) {
		at, ok := place[s.group]
		if _, owned := owner[s.name]; !ok || !owned {
			return
		}
		if first, ok := sources[s.name]; ok && first != at {
			at = several
		}
		sources[s.name] = at
	}
	for s := range w.symbols.functions {
		note(s)
	}
	for s := range w.symbols.variables {
		note(s)
	}
	votes := map[tie]int{}
	for name, group := range sources {
		if blob := owner[name]; blob != several && group != several {
			votes[tie{blob: blob, group: group}]++
		}
	}
	return inOrder(votes), nil
}

// inOrder returns the ties that hold together: each blob's and each source's with the most votes,
// and of these those that run in order, the more votes the sooner.
func inOrder(votes map[tie]int) []tie {
	var all []tie
	for t, n := range votes {
		t.votes = n
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b tie) int {
		switch {
		case a.votes != b.votes:
			return b.votes - a.votes
		case a.blob != b.blob:
			return a.blob - b.blob
		}
		return a.group - b.group
	})
	var kept []tie // by blob
	for _, t := range all {
		i, found := slices.BinarySearchFunc(kept, t, func(a, b tie) int { return a.blob - b.blob })
		if found || i > 0 && kept[i-1].group >= t.group || i < len(kept) && kept[i].group <= t.group {
			continue
		}
		kept = slices.Insert(kept, i, t)
	}
	return kept
}
