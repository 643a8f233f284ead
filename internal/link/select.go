package link

import (
	"iter"
	"slices"

	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/types"
)

// countHolders counts for every node the units that hold it.
func (l *linker) countHolders() {
	l.weight = make([]uint64, len(l.nodes))
	l.selected = make([]bool, len(l.units))
	for u := range l.units {
		unit := &l.units[u]
		count := uint64(unit.Count)
		for _, id := range unit.Items {
			l.weight[id] += count
		}
		if unit.Linked {
			if l.linkedWeight == nil {
				l.linkedWeight = make([]uint64, len(l.nodes))
			}
			for _, id := range unit.Items {
				l.linkedWeight[id] += count
			}
		}
		l.selected[u] = true
	}
}

// candidates are the functions and variables of a unit, the last ones first: units have them behind
// their types.
func (l *linker) candidates(u int) iter.Seq[*types.Node] {
	return func(yield func(*types.Node) bool) {
		for _, id := range slices.Backward(l.units[u].Items) {
			if k := l.seen.kinds[id]; (k == types.KindFunc || k == types.KindVar) && !yield(&l.nodes[id]) {
				return
			}
		}
	}
}

// selectUnits drops the units that the linker did not take: members of an archive that nothing
// needed. A unit is dropped if it defines global variables or global functions that have code, and
// neither the linked file's global symbols nor the local ones of files of the unit's name have any
// of its functions and variables.
func (l *linker) selectUnits() {
	if l.opt.Facts == nil || !l.opt.Facts.HasFiles {
		return
	}
	var undecided []int // none of their global names is there
	files := map[types.Str]bool{}
	for u := range l.units {
		unit := &l.units[u]
		if unit.Linked || unit.File == 0 {
			continue
		}
		globals, found := false, false
		for n := range l.candidates(u) {
			if n.Aux != types.LinkageGlobal {
				continue
			}
			if found = l.symbols.bits[n.Name]&(symGlobal|symHidden) != 0; found {
				break
			}
			globals = globals || n.Kind != types.KindFunc || types.FuncFlags(n.Size)&types.FuncNoCode == 0
		}
		if globals && !found {
			undecided = append(undecided, u)
			files[unit.File] = true
		}
	}
	if len(undecided) == 0 {
		return
	}
	locals := l.localNames(files)
	for _, u := range undecided {
		found := false
		for n := range l.candidates(u) {
			if found = locals[fileName{l.units[u].File, n.Name}]; found {
				break
			}
		}
		if !found {
			l.drop(u)
		}
	}
}

func (l *linker) drop(u int) {
	l.selected[u] = false
	for _, id := range l.units[u].Items {
		l.weight[id] -= uint64(l.units[u].Count)
	}
}

// fileName is a local function or variable of a source file.
type fileName struct{ file, name types.Str }

// localNames are the names of the local functions and variables of source files, joined over equal
// file names.
func (l *linker) localNames(wanted map[types.Str]bool) map[fileName]bool {
	f := l.opt.Facts
	set := map[fileName]bool{}
	names := make([]types.Str, len(f.Files)) // 0: not wanted
	for i := range f.Files {
		if s, ok := l.g.Strs.Lookup([]byte(f.Files[i].Name)); ok && wanted[s] {
			names[i] = s
		}
	}
	add := func(file types.Str, name string) {
		if s, ok := l.g.Strs.Lookup([]byte(name)); ok {
			set[fileName{file, s}] = true
		}
	}
	for i := range f.Files {
		if names[i] == 0 {
			continue
		}
		for _, symbol := range f.Files[i].Funcs {
			if base, ok := facts.BaseName(symbol); ok {
				add(names[i], base)
				if base != symbol && l.opt.Features.Has(features.TrueSignature) {
					add(names[i], symbol)
				}
			}
		}
	}
	for i := range f.Objects {
		if o := &f.Objects[i]; o.File >= 0 && names[o.File] != 0 {
			add(names[o.File], o.Name)
		}
	}
	return set
}
