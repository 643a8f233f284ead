package symbols

import (
	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/types"
)

// Select drops the units that the linker did not take: members of an archive that nothing needed. A
// unit is dropped if it defines global variables or global functions that have code, and neither
// the linked file's global symbols nor the local ones of files of the unit's name have any of its
// functions and variables.
func (x *Index) Select(s *survey.Survey, f *facts.Facts, set features.Set) {
	if f == nil || !f.HasFiles {
		return
	}
	var undecided []int // none of their global names is there
	files := map[types.Str]bool{}
	for u := range s.Units {
		unit := &s.Units[u]
		if unit.Linked || unit.File == 0 {
			continue
		}
		if globals, found := x.globals(s, u); globals && !found {
			undecided = append(undecided, u)
			files[unit.File] = true
		}
	}
	if len(undecided) == 0 {
		return
	}
	locals := localNames(s, f, set, files)
	for _, u := range undecided {
		found := false
		for n := range s.CandidatesOf(u) {
			if found = locals[fileName{s.Units[u].File, n.Name}]; found {
				break
			}
		}
		if !found {
			s.Drop(u)
		}
	}
}

// globals tells whether a unit defines something global that must have a symbol where the unit is
// linked, and whether the linked file has a global symbol of one of the unit's global names.
func (x *Index) globals(s *survey.Survey, u int) (defines, found bool) {
	for n := range s.CandidatesOf(u) {
		if n.Aux != types.LinkageGlobal {
			continue
		}
		if x.Of(n.Name)&(Global|Hidden) != 0 {
			return true, true
		}
		noCode := n.Kind == types.KindFunc && types.FuncFlags(n.Size)&types.FuncNoCode != 0
		defines = defines || !noCode
	}
	return defines, false
}

// fileName is a local function or variable of a source file.
type fileName struct{ file, name types.Str }

// localNames are the names of the local functions and variables of source files, together for all
// files of one name.
func localNames(s *survey.Survey, f *facts.Facts, set features.Set,
	wanted map[types.Str]bool) map[fileName]bool {
	strs := &s.Graph.Strs
	found := map[fileName]bool{}
	names := make([]types.Str, len(f.Files)) // 0: not wanted
	for i := range f.Files {
		if s, ok := strs.Lookup([]byte(f.Files[i].Name)); ok && wanted[s] {
			names[i] = s
		}
	}
	add := func(file types.Str, name string) {
		if s, ok := strs.Lookup([]byte(name)); ok {
			found[fileName{file, s}] = true
		}
	}
	for i := range f.Files {
		if names[i] == 0 {
			continue
		}
		for _, symbol := range f.Files[i].Funcs {
			if base, ok := facts.BaseName(symbol); ok {
				add(names[i], base)
				if base != symbol && set.Has(features.TrueSignature) {
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
	return found
}
