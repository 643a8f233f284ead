package symbols

import (
	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/types"
)

// Select drops the units that the linker did not take: members of an archive that nothing needed. A
// unit is dropped if it defines global variables or global functions that have code, and neither
// the linked file's global symbols nor the local ones of files of the unit's name have any of its
// functions and variables.
func (x *Index) Select(s *survey.Survey, f *facts.Facts) {
	if f == nil || !f.HasFiles {
		return
	}
	var undecided []int // none of their global names is there
	for u := range s.Units {
		unit := &s.Units[u]
		if unit.FromBTF || unit.File == 0 {
			continue
		}
		if defines, found := x.globals(s, u); defines && !found {
			undecided = append(undecided, u)
		}
	}
	locals := localNames(s, f, undecided)
	for _, u := range undecided {
		if !locals.have(s, u) {
			s.Drop(u)
		}
	}
}

// locals are the names of local functions and variables by source file.
type locals map[types.Str]map[types.Str]bool

// localNames returns the locals of the source files of some units.
func localNames(s *survey.Survey, f *facts.Facts, units []int) locals {
	l := locals{}
	if len(units) == 0 {
		return l
	}
	for _, u := range units {
		l[s.Units[u].File] = map[types.Str]bool{}
	}
	ofFile := make([]map[types.Str]bool, len(f.Files)) // files of one name share theirs
	for i := range f.Files {
		if name, ok := s.Graph.Strs.Lookup([]byte(f.Files[i].Name)); ok {
			ofFile[i] = l[name]
		}
	}
	wanted := func(file int) bool { return ofFile[file] != nil }
	LocalNames(&s.Graph.Strs, f, wanted, func(file int, name types.Str) {
		ofFile[file][name] = true
	})
	return l
}

// have reports whether the linked file has a local function or variable of a unit.
func (l locals) have(s *survey.Survey, u int) bool {
	for n := range s.CandidatesOf(u) {
		if l[s.Units[u].File][n.Name] {
			return true
		}
	}
	return false
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

// LocalNames calls found with the names of the local functions and variables of the facts' files
// that are wanted, each with the file's index. A clone has its own name and its base name.
func LocalNames(strs *types.Strings, f *facts.Facts, wanted func(file int) bool,
	found func(file int, name types.Str)) {
	add := func(file int, name string) {
		if s, ok := strs.Lookup([]byte(name)); ok {
			found(file, s)
		}
	}
	for i := range f.Files {
		if !wanted(i) {
			continue
		}
		for _, symbol := range f.Files[i].Funcs {
			if base, ok := facts.BaseName(symbol); ok {
				add(i, base)
			}
			add(i, symbol)
		}
	}
	for i := range f.Objects {
		if o := &f.Objects[i]; o.File >= 0 && wanted(o.File) {
			add(o.File, o.Name)
		}
	}
}
