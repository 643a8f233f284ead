package symbols

import (
	"maps"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Select drops the units that the linker did not take: members of an archive that nothing needed,
// and objects of which --gc-sections has dropped all, with their debugging information.
//
// Each source file that is linked has an STT_FILE, even if only data of it is left; only an
// assembler's has none. So a unit is linked if there are as many of its file's name as units. If
// there are fewer, those units are linked that have a global symbol, or a local one of a file of
// their name. If there are more STT_FILEs than these, the units without global definitions are
// linked too, for they are in no archive; and if there are still more, all others. Where only some
// of the others are linked, nothing says which.
func (x *Index) Select(s *survey.Survey, f *facts.Facts) {
	if f == nil || !f.HasFiles {
		return
	}
	linked, units := linkedFiles(&s.Graph.Strs, f), map[types.Str]int{}
	for u := range s.Units {
		units[s.Units[u].File] += int(s.Units[u].Count)
	}
	room := maps.Clone(linked) // for units that have no symbol
	var foreign, silent, lost []int
	for u := range s.Units {
		unit := &s.Units[u]
		if unit.FromBTF || unit.File == 0 || len(unit.Items) == 0 ||
			units[unit.File] <= linked[unit.File] {
			continue
		}
		assembler := isAssembler(s.Graph.Strs.String(unit.File))
		switch defines, found := x.globals(s, u); {
		case defines && !found:
			lost = append(lost, u)
		case assembler:
		case linked[unit.File] == 0:
			foreign = append(foreign, u)
		case found:
			room[unit.File] -= int(unit.Count)
		default:
			silent = append(silent, u)
		}
	}
	x.dropForeign(s, foreign, linked)
	locals := localNames(s, f, slices.Concat(silent, lost))
	silent, lost = locals.without(s, silent, room), locals.without(s, lost, room)
	drop(s, silent, room)
	for _, u := range silent {
		room[s.Units[u].File] -= int(s.Units[u].Count)
	}
	drop(s, lost, room)
}

// linkedFiles returns how many STT_FILEs there are of each name. objcopy --prefix-symbols puts a
// prefix before these names too: __pi_fdt.c is fdt.c.
func linkedFiles(strs *types.Strings, f *facts.Facts) map[types.Str]int {
	linked := map[types.Str]int{}
	add := func(name string) {
		if s, ok := strs.Lookup([]byte(name)); ok {
			linked[s]++
		}
	}
	for i := range f.Files {
		name := f.Files[i].Name
		add(name)
		for prefixed := strings.HasPrefix(name, "__"); prefixed; {
			if _, name, prefixed = strings.Cut(name, "_"); prefixed {
				add(name)
			}
		}
	}
	return linked
}

// isAssembler reports whether a source file is an assembler's.
func isAssembler(file string) bool {
	return strings.HasSuffix(file, ".S") || strings.HasSuffix(file, ".s")
}

// drop drops the units of files for which there is no room.
func drop(s *survey.Survey, units []int, room map[types.Str]int) {
	for _, u := range units {
		if room[s.Units[u].File] <= 0 {
			s.Drop(u)
		}
	}
}

// dropForeign drops units whose files aren't linked, if they have no symbol but such as units of
// linked files have too. One with its own symbol has another file name in the symbol table
// than in its debugging information.
func (x *Index) dropForeign(s *survey.Survey, foreign []int, linked map[types.Str]int) {
	if len(foreign) == 0 {
		return
	}
	elsewhere := map[types.ID]uint64{} // the weight of definitions in units of no linked file
	for u := range s.Units {
		if linked[s.Units[u].File] == 0 {
			for id := range s.CandidatesOf(u) {
				elsewhere[id] += uint64(s.Units[u].Count)
			}
		}
	}
	inLinked := func(n *types.Node, list *survey.Candidates) bool {
		for c := range list.Of(n.Name) {
			if s.Nodes[c.Node].Aux == n.Aux && s.Weight[c.Node] > elsewhere[c.Node] {
				return true
			}
		}
		return false
	}
	type definition struct {
		name    types.Str
		linkage uint32
	}
	shared := map[definition]bool{} // whether units of linked files have it too
	var dropped []int
	for _, u := range foreign {
		own := false
		for id := range s.CandidatesOf(u) {
			n := &s.Nodes[id]
			bits := ExactLocal | ExactLoose | Hidden
			if n.Aux == types.LinkageGlobal {
				bits = Global | Hidden
			}
			if x.Of(n.Name)&bits == 0 {
				continue
			}
			def := definition{n.Name, n.Aux}
			also, known := shared[def]
			if !known {
				also = inLinked(n, &s.Functions) || inLinked(n, &s.Variables)
				shared[def] = also
			}
			own = own || !also
		}
		if !own {
			dropped = append(dropped, u)
		}
	}
	for _, u := range dropped {
		s.Drop(u)
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

// without returns the units of which the linked file has nothing local, and takes the room of the
// others.
func (l locals) without(s *survey.Survey, units []int, room map[types.Str]int) (none []int) {
	for _, u := range units {
		if l.have(s, u) {
			room[s.Units[u].File] -= int(s.Units[u].Count)
		} else {
			none = append(none, u)
		}
	}
	return none
}

// have reports whether the linked file has a local function or variable of a unit.
func (l locals) have(s *survey.Survey, u int) bool {
	for id := range s.CandidatesOf(u) {
		n := &s.Nodes[id]
		if l[s.Units[u].File][n.Name] {
			return true
		}
	}
	return false
}

// globals reports whether a unit defines something global that must have a symbol where the unit is
// linked, and whether the linked file has a global symbol of one of the unit's global names.
func (x *Index) globals(s *survey.Survey, u int) (defines, found bool) {
	for id := range s.CandidatesOf(u) {
		n := &s.Nodes[id]
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

// LeftOut are units that Select has dropped.
type LeftOut struct {
	Units int
	Files []string // base names of their source files; sorted, each once
}

// LeftOut returns the units that Select has dropped, and those of them that are no members of an
// archive that nothing needed: they have functions with code, but no global ones.
func (x *Index) LeftOut(s *survey.Survey) (all, absent LeftOut) {
	for u := range s.Units {
		if s.Selected[u] {
			continue
		}
		all.add(s, u)
		if defines, _ := x.globals(s, u); !defines && hasCode(s, u) {
			absent.add(s, u)
		}
	}
	all.sort()
	absent.sort()
	return all, absent
}

func (l *LeftOut) add(s *survey.Survey, u int) {
	l.Units += int(s.Units[u].Count)
	l.Files = append(l.Files, s.Graph.Strs.String(s.Units[u].File))
}

func (l *LeftOut) sort() {
	slices.Sort(l.Files)
	l.Files = slices.Compact(l.Files)
}

// hasCode reports whether a unit has a function with code.
func hasCode(s *survey.Survey, u int) bool {
	for id := range s.CandidatesOf(u) {
		n := &s.Nodes[id]
		if n.Kind == types.KindFunc && types.FuncFlags(n.Size)&types.FuncNoCode == 0 {
			return true
		}
	}
	return false
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
