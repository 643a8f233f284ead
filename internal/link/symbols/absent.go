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
// that define something global. Names decide, whatever file a local symbol is of. A unit without
// functions is none of them, and after link-time optimization, when a unit's functions may all be
// inlined into others, no unit is.
func (x *Index) Absent(s *survey.Survey, f *facts.Facts) Absent {
	var a Absent
	if f == nil || !f.HasFiles {
		return a
	}
	var statics map[types.Str]bool
	for u := range s.Units {
		unit := &s.Units[u]
		if !s.Selected[u] || unit.FromBTF || unit.File == 0 {
			continue
		}
		code, variables := x.unknown(s, u)
		if !code {
			continue
		}
		if len(variables) > 0 && statics == nil {
			statics = staticVariables(&s.Graph.Strs, f)
		}
		if !slices.ContainsFunc(variables, func(v types.Str) bool { return statics[v] }) {
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

// unknown tells whether a unit defines functions with code, none of which has a symbol, nor has any
// global variable of it; and the names of its static variables, of which the index knows nothing.
func (x *Index) unknown(s *survey.Survey, u int) (code bool, statics []types.Str) {
	for n := range s.CandidatesOf(u) {
		switch {
		case x.Of(n.Name)&(Exact|Suffixed|Global|Hidden) != 0:
			return false, nil
		case n.Kind == types.KindVar:
			statics = append(statics, n.Name)
		case types.FuncFlags(n.Size)&types.FuncNoCode == 0:
			code = true
		}
	}
	return code, statics
}

// staticVariables are the names of local variables that the graph has.
func staticVariables(strs *types.Strings, f *facts.Facts) map[types.Str]bool {
	found := map[types.Str]bool{}
	for i := range f.Objects {
		if name, ok := strs.Lookup([]byte(f.Objects[i].Name)); ok && f.Objects[i].Local {
			found[name] = true
		}
	}
	return found
}
