package compilerbtf

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// matchSources finds each blob's source: the STT_FILE that precedes the blob's local symbols.
//
// Linkers write blobs and STT_FILEs in the order of their inputs, but not every input has both: an
// input from an assembler has no blob, and an input that the linker makes has no STT_FILE. Names
// give ties: if n sources have a local symbol with a certain name, and n blobs define something
// static with that name, these sources and blobs are tied to each other in order. Then the same is
// done for the blobs and sources between two ties. Where there is no tie, but as many blobs as
// sources, these are matched in order. The source of any other blob stays unknown: for such a blob,
// the local symbols of all sources count.
// Rule: BTF of a compiler: the source file of a blob.
func (w *work) matchSources(parts []part) error {
	if !w.symbols.groups {
		return nil // all are in group 0
	}
	for i := range parts {
		parts[i].source = sourceUnknown
	}
	m := matcher{parts: parts}
	place := map[int]int{} // by group: the group's index in m.groups
	for i, name := range w.symbols.sources {
		if name != "" {
			place[i] = len(m.groups)
			m.groups = append(m.groups, i)
		}
	}
	byName, err := w.definers(parts)
	if err != nil {
		return err
	}
	note := func(s symbol) {
		d := byName[s.name]
		if at, ok := place[s.group]; ok && d != nil {
			d.groups = append(d.groups, at)
		}
	}
	for s := range w.symbols.functions {
		note(s)
	}
	for s := range w.symbols.variables {
		note(s)
	}
	m.defines = make([][]*definers, len(parts))
	for _, d := range byName {
		slices.Sort(d.groups)
		if d.groups = slices.Compact(d.groups); len(d.groups) == 0 {
			continue
		}
		for _, blob := range d.blobs {
			m.defines[blob] = append(m.defines[blob], d)
		}
	}
	m.match(tie{}, tie{blob: len(parts), group: len(m.groups)}, maxRounds)
	return nil
}

// Sources maps each STT_FILE in f (by elf.Symbol.FileIndex) to the number of the blob whose local
// symbols follow it. STT_FILEs without a known blob are left out.
func Sources(f *elf.File) (map[int]int, error) {
	data, err := btf.Section(f, btf.SectionTypes)
	if err != nil {
		return nil, err
	}
	w := &work{opt: &convert.Options{}}
	err = w.prepare(f, data)
	if err != nil {
		return nil, err
	}
	blobs := map[int]int{}
	for _, p := range w.parts {
		if p.source >= 0 {
			blobs[p.source] = p.number
		}
	}
	return blobs, nil
}

// maxRounds bounds how often the blobs and sources between ties are matched again.
const maxRounds = 8

// maxTies bounds how many ties inOrder considers in one round. Kernels have a few thousand.
const maxTies = 1 << 15

type matcher struct {
	parts   []part
	groups  []int         // the groups of STT_FILEs with a name
	defines [][]*definers // by blob: the static names that the blob defines
}

// definers are the blobs and groups that define something static with the same name, in order.
type definers struct {
	blobs  []int
	groups []int // indexes in matcher.groups
}

// tie says that a blob belongs to a source; group is the source's index in matcher.groups.
type tie struct{ blob, group, votes int }

// match matches the blobs and sources in the range [from, to).
func (m *matcher) match(from, to tie, rounds int) {
	if from.blob >= to.blob || from.group >= to.group {
		return
	}
	votes := map[tie]int{}
	for blob := from.blob; blob < to.blob; blob++ {
		for _, d := range m.defines[blob] {
			blobs, groups := within(d.blobs, from.blob, to.blob), within(d.groups, from.group, to.group)
			if blobs[0] != blob || len(blobs) != len(groups) {
				continue // already counted, or the numbers differ
			}
			for i := range blobs {
				votes[tie{blob: blobs[i], group: groups[i]}]++
			}
		}
	}
	ties := inOrder(votes)
	if len(ties) == 0 && to.blob-from.blob == to.group-from.group {
		for i := range to.blob - from.blob {
			m.parts[from.blob+i].source = m.groups[from.group+i]
		}
	}
	if len(ties) == 0 || rounds == 0 {
		return
	}
	for _, t := range ties {
		m.parts[t.blob].source = m.groups[t.group]
		m.match(from, t, rounds-1)
		from = tie{blob: t.blob + 1, group: t.group + 1}
	}
	m.match(from, to, rounds-1)
}

// within returns the part of a sorted list that is in the range [from, to).
func within(list []int, from, to int) []int {
	first, _ := slices.BinarySearch(list, from)
	end, _ := slices.BinarySearch(list, to)
	return list[first:end]
}

// definers returns, for each name, the blobs that define something static with that name.
func (w *work) definers(parts []part) (map[string]*definers, error) {
	list := map[string]*definers{}
	for i := range parts {
		if parts[i].empty {
			continue
		}
		err := btf.Definitions(parts[i].data, func(_ btf.Kind, linkage uint32, name []byte) {
			if linkage != btf.LinkageStatic || len(name) == 0 {
				return
			}
			d := list[string(name)]
			if d == nil {
				d = &definers{}
				list[string(name)] = d
			}
			if n := len(d.blobs); n == 0 || d.blobs[n-1] != i {
				d.blobs = append(d.blobs, i)
			}
		})
		if err != nil {
			return nil, w.name(&parts[i], err)
		}
	}
	return list, nil
}

// inOrder selects ties, beginning with those that have the most votes. It drops a tie if it crosses
// a selected tie, or if its blob or source already has a selected tie.
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
	for _, t := range all[:min(len(all), maxTies)] {
		i, found := slices.BinarySearchFunc(kept, t, func(a, b tie) int { return a.blob - b.blob })
		if found || i > 0 && kept[i-1].group >= t.group || i < len(kept) && kept[i].group <= t.group {
			continue
		}
		kept = slices.Insert(kept, i, t)
	}
	return kept
}
