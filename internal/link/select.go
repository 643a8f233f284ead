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

// candidates are the functions and variables of a unit, the last ones first: units have them behind their types.
func (l *linker) candidates(u int) iter.Seq[*types.Node] {
	return func(yield func(*types.Node) bool) {
		for _, id := range slices.Backward(l.units[u].Items) {
			if k := l.seen.kinds[id]; (k == types.KindFunc || k == types.KindVar) && !yield(&l.nodes[id]) {
				return
			}
		}
	}
}

// What symbolIndex knows of a base name.
const (
	symExact     = 1 << iota // a function symbol has just this name
	symSuffixed              // a function symbol has this name and a suffix
	symAmbiguous             // its symbols have several addresses
	symGlobal                // a function or variable has a global symbol of this name
	symHidden                // one of no source file has it: a global one that the linker made local
	symTwice                 // several function symbols have just this name
	symKfunc                 // it is a kfunc
	symOwned                 // symbols of this name with a suffix have candidates of their own (true_signature)
)

// symbolIndex is what the facts say of names, by types.Str.
type symbolIndex struct{ bits []uint8 }

func (l *linker) indexSymbols() {
	f := l.opt.Facts
	if f == nil {
		return
	}
	x := &l.symbols
	x.bits = make([]uint8, l.g.Strs.Len())
	var buf []byte
	set := func(name string, bits uint8) {
		buf = append(buf[:0], name...)
		if s, ok := l.g.Strs.Lookup(buf); ok {
			if bits&x.bits[s]&symExact != 0 {
				bits |= symTwice
			}
			x.bits[s] |= bits
		}
	}
	function := func(symbol string, bits uint8) {
		base, ok := facts.BaseName(symbol)
		switch {
		case !ok:
		case len(base) == len(symbol):
			set(base, bits|symExact)
		default:
			set(base, bits|symSuffixed)
			if l.opt.Features.Has(features.TrueSignature) {
				set(symbol, bits|symExact)
			}
		}
	}
	for _, s := range f.Globals {
		function(s, symGlobal)
	}
	for i := range f.Files {
		// Hidden symbols are local in a linked file, and stand behind those of all files.
		var bits uint8
		if f.Files[i].Name == "" {
			bits = symHidden
		}
		for _, s := range f.Files[i].Funcs {
			function(s, bits)
		}
	}
	for i := range f.Repeated {
		set(f.Repeated[i].Name, symAmbiguous)
	}
	for i := range f.Kfuncs {
		set(f.Kfuncs[i].Name, symKfunc)
	}
	for i := range f.Objects {
		switch o := &f.Objects[i]; {
		case !o.Local:
			set(o.Name, symGlobal)
		case f.Files[o.File].Name == "":
			set(o.Name, symHidden)
		}
	}
}

// selectUnits drops the units that the linker did not take: members of an archive that nothing needed. A unit is
// dropped if it defines global variables or global functions that have code, and neither the linked file's global
// symbols nor the local ones of files of the unit's name have any of its functions and variables.
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

// localNames are the names of the local functions and variables of source files, joined over equal file names.
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
