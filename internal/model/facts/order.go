package facts

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/model/types"
)

// sortFew sorts all lists except the lists of functions, which are long. It sorts files only by
// name, because their functions aren't sorted yet.
func (f *Facts) sortFew() {
	slices.SortFunc(f.Kfuncs, func(a, b Kfunc) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(f.SeveralAddresses, func(a, b RepeatedName) int {
		return strings.Compare(a.Name, b.Name)
	})
	f.sortFiles(func(a, b int) int { return strings.Compare(f.Files[a].Name, f.Files[b].Name) })
	slices.SortFunc(f.Vars, compareVariables)
}

// sort sorts everything as the comments on the fields of Facts say.
func (f *Facts) sort() {
	f.sortFew()
	sortNames(f.Globals)
	for i := range f.Files {
		slices.Sort(f.Files[i].Funcs)
	}
	objects := make([][]Variable, len(f.Files))
	for _, o := range f.Vars {
		if o.File >= 0 {
			i := o.File
			o.File = 0 // so that only the objects themselves are compared
			objects[i] = append(objects[i], o)
		}
	}
	f.sortFiles(func(a, b int) int {
		return cmp.Or(compareFiles(&f.Files[a], &f.Files[b]),
			slices.CompareFunc(objects[a], objects[b], compareVariables))
	})
	slices.SortFunc(f.Vars, compareVariables)
}

// sortFiles sorts Files. The function compare gets two indexes.
func (f *Facts) sortFiles(compare func(a, b int) int) {
	order := make([]int, len(f.Files))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, compare)
	f.arrangeFiles(order)
}

// arrangeFiles sets Files to the files with these indexes, in this order, and adapts Variable.File.
func (f *Facts) arrangeFiles(order []int) {
	var files []File
	place := make([]int, len(f.Files))
	for i, old := range order {
		files = append(files, f.Files[old])
		place[old] = i
	}
	f.Files = files
	for i := range f.Vars {
		if o := &f.Vars[i]; o.File >= 0 {
			o.File = place[o.File]
		}
	}
}

// sortNames is slices.Sort for many names. It compares their first bytes as numbers.
func sortNames(names []string) {
	type entry struct {
		key  uint64
		name string
	}
	list := make([]entry, len(names))
	for i, s := range names {
		list[i] = entry{sortKey(s), s}
	}
	slices.SortFunc(list, func(a, b entry) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return strings.Compare(a.name, b.name)
	})
	for i := range list {
		names[i] = list[i].name
	}
}

// sortKey packs the first bytes of a name into a number, so that numbers compare like the names.
func sortKey(s string) uint64 {
	var first [8]byte
	copy(first[:], s)
	return binary.BigEndian.Uint64(first[:])
}

func compareFiles(a, b *File) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), slices.Compare(a.Funcs, b.Funcs))
}

func compareVariables(a, b Variable) int {
	return cmp.Or(
		strings.Compare(a.Section, b.Section),
		cmp.Compare(a.Offset, b.Offset),
		strings.Compare(a.Name, b.Name),
		cmp.Compare(a.Size, b.Size),
		cmp.Compare(a.File, b.File),
		a.Definition.Cmp(b.Definition))
}

// PerCPU returns the facts as they would be without the feature global_var: only per-CPU variables
// are listed. f doesn't change; the result shares memory with f.
// Rule: --variables: facts of per-CPU variables only.
func (f *Facts) PerCPU() *Facts {
	if f.Variables != VariablesAll {
		return f
	}
	p := *f
	p.Variables = VariablesPerCPU
	p.Files = slices.Clone(f.Files)
	p.Vars = nil
	for _, o := range f.Vars {
		if o.Section == PerCPUSection {
			p.Vars = append(p.Vars, o)
		}
	}
	p.forgetSingle()
	p.dropNameless()
	return &p
}

// forgetSingle clears Definition in local variables whose pair of file name and name is unique.
func (f *Facts) forgetSingle() {
	type name struct{ file, symbol string }
	nameOf := func(o *Variable) name { return name{f.Files[o.File].Name, f.SourceName(o.Name)} }
	count := map[name]int{}
	for i := range f.Vars {
		if o := &f.Vars[i]; o.Local {
			count[nameOf(o)]++
		}
	}
	for i := range f.Vars {
		if o := &f.Vars[i]; o.Local && count[nameOf(o)] == 1 {
			o.Definition = types.Hash{}
		}
	}
}

// dropNameless drops the files that have no name, no functions and no variables.
func (f *Facts) dropNameless() {
	used := make([]bool, len(f.Files))
	for i := range f.Files {
		used[i] = f.Files[i].Name != "" || len(f.Files[i].Funcs) > 0
	}
	for _, o := range f.Vars {
		if o.File >= 0 {
			used[o.File] = true
		}
	}
	var kept []int
	for i, u := range used {
		if u {
			kept = append(kept, i)
		}
	}
	f.arrangeFiles(kept)
}
