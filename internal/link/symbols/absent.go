package symbols

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/types"
)

// Absent is the units that are in a link though nothing of them is in the linked file.
type Absent struct {
	Units int
	Files []string // base names of their source files; sorted, each once
}

// Absent finds the units that define functions with code of which the linked file has none, nor any
// of their variables: objects of modules, say, in the link of vmlinux. Select has dropped those
// that define something global. A local symbol counts for the units of its source file's name. A
// unit without functions is none of them, and after link-time optimization, when a unit's functions
// may all be inlined into others, no unit is.
func (x *Index) Absent(s *survey.Survey, f *facts.Facts) Absent {
	var a Absent
	if f == nil || !f.HasFiles {
		return a
	}
	var doubtful []int
	for u := range s.Units {
		if unit := &s.Units[u]; s.Selected[u] && !unit.FromBTF && unit.File != 0 && x.doubtful(s, u) {
			doubtful = append(doubtful, u)
		}
	}
	locals := localNames(s, f, doubtful)
	for _, u := range doubtful {
		if unit := &s.Units[u]; !locals.have(s, u) {
			a.Units += int(unit.Count)
			a.Files = append(a.Files, s.Graph.Strs.String(unit.File))
		}
	}
	slices.Sort(a.Files)
	a.Files = slices.Compact(a.Files)
	return a
}

// LeftOut returns the base names of the source files of the units that Select has dropped; sorted,
// each once.
func LeftOut(s *survey.Survey) []string {
	var files []string
	for u := range s.Units {
		if unit := &s.Units[u]; !s.Selected[u] && unit.File != 0 {
			files = append(files, s.Graph.Strs.String(unit.File))
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// doubtful reports whether a unit defines functions with code, while nothing but symbols that are
// local to source files may be of them or of any variable of it.
func (x *Index) doubtful(s *survey.Survey, u int) (code bool) {
	for n := range s.CandidatesOf(u) {
		switch bits := x.Of(n.Name); {
		case bits&(ExactLoose|Hidden) != 0, n.Aux == types.LinkageGlobal && bits&Global != 0:
			return false
		case n.Kind == types.KindFunc && types.FuncFlags(n.Size)&types.FuncNoCode == 0:
			code = true
		}
	}
	return code
}
