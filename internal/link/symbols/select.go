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
// and objects that --gc-sections dropped as a whole, with their debugging information.
//
// Each linked source file has an STT_FILE, even if only its data was linked. Assembly files are the
// exception: they have no STT_FILE. So if a file name has as many STT_FILEs as units, all these
// units are linked. If it has fewer STT_FILEs, the linked units are those with a global symbol, or
// with a local symbol in a file of that name. If a file name has more STT_FILEs than such units,
// the units without global definitions count as linked too, because they can't be unneeded members
// of an archive. If the name has even more STT_FILEs, all other units count as linked, although
// perhaps only some of them are: nothing shows which.
// Rule: units that are not in the linked file.
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

// linkedFiles returns how many STT_FILEs have each name. objcopy --prefix-symbols also adds its
// prefix to these names: __pi_fdt.c is fdt.c.
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

func isAssembler(file string) bool {
	return strings.HasSuffix(file, ".S") || strings.HasSuffix(file, ".s")
}

// drop drops the units that have no room: all STT_FILEs of their file names have been used up.
func drop(s *survey.Survey, units []int, room map[types.Str]int) {
	for _, u := range units {
		if room[s.Units[u].File] <= 0 {
			s.Drop(u)
		}
	}
}

// dropForeign looks at units whose files are not among the linked files. It drops a unit if units
// of linked files also have all of its symbols. A unit with a symbol that they lack is linked: its
// file is named differently in the symbol table and in the debugging information.
func (x *Index) dropForeign(s *survey.Survey, foreign []int, linked map[types.Str]int) {
	if len(foreign) == 0 {
		return
	}
	elsewhere := map[types.ID]uint64{} // weights of definitions in units of files that are not linked
	for u := range s.Units {
		if linked[s.Units[u].File] == 0 {
			for _, id := range s.CandidatesOf(u) {
				elsewhere[id] += uint64(s.Units[u].Count)
			}
		}
	}
	inLinked := func(n *types.Node, list *survey.Candidates) bool {
		for c := range list.Of(n.Name) {
			if s.Nodes[c.Node].Linkage() == n.Linkage() && s.Weight[c.Node] > elsewhere[c.Node] {
				return true
			}
		}
		return false
	}
	type definition struct {
		name    types.Str
		linkage uint32
	}
	shared := map[definition]bool{} // whether units of linked files also have it
	var dropped []int
	for _, u := range foreign {
		own := false
		for _, id := range s.CandidatesOf(u) {
			n := &s.Nodes[id]
			bits := ExactLocal | ExactLoose | Hidden
			if n.Linkage() == types.LinkageGlobal {
				bits = Global | Hidden
			}
			if x.Of(n.Name)&bits == 0 {
				continue
			}
			def := definition{n.Name, n.Linkage()}
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

// locals lists the names of local functions and variables, by source file.
type locals map[types.Str]map[types.Str]bool

func localNames(s *survey.Survey, f *facts.Facts, units []int) locals {
	l := locals{}
	if len(units) == 0 {
		return l
	}
	for _, u := range units {
		l[s.Units[u].File] = map[types.Str]bool{}
	}
	ofFile := make([]map[types.Str]bool, len(f.Files)) // files with the same name share a map
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

// without returns the units that have no local symbol in the linked file. It subtracts all other
// units from the room of their files.
func (l locals) without(s *survey.Survey, units []int, room map[types.Str]int) (none []int) {
	for _, u := range units {
		if l.hasAnyOf(s, u) {
			room[s.Units[u].File] -= int(s.Units[u].Count)
		} else {
			none = append(none, u)
		}
	}
	return none
}

// hasAnyOf reports whether the linked file has a local function or variable of a unit.
func (l locals) hasAnyOf(s *survey.Survey, u int) bool {
	for _, id := range s.CandidatesOf(u) {
		n := &s.Nodes[id]
		if l[s.Units[u].File][n.Name] {
			return true
		}
	}
	return false
}

// globals returns whether a unit defines something global, or promoted by ThinLTO, that must have a
// symbol if the unit is linked. It also returns whether the linked file has a global symbol with
// one of the unit's global names.
func (x *Index) globals(s *survey.Survey, u int) (defines, found bool) {
	for _, id := range s.CandidatesOf(u) {
		n := &s.Nodes[id]
		if n.Linkage() != types.LinkageGlobal {
			if x.Of(n.Name)&Hidden != 0 && isPromoted(s.Graph.Strs.String(n.Name)) {
				return true, true
			}
			continue
		}
		if x.Of(n.Name)&(Global|Hidden) != 0 {
			return true, true
		}
		noCode := n.Kind == types.KindFunc && n.FuncFlags()&types.FuncNoCode != 0
		defines = defines || !noCode
	}
	return defines, false
}

// isPromoted reports whether the symbol is that of a static function, which ThinLTO has made hidden
// because a different file refers to the function. The suffix has a hash of the source file.
// Rule: static functions that ThinLTO has made hidden (foo.llvm.123).
func isPromoted(symbol string) bool { return strings.Contains(symbol, ".llvm.") }

// LeftOut describes units that Select has dropped.
type LeftOut struct {
	Units int
	Files []string // base names of their source files, sorted, without duplicates
}

// LeftOut returns the units that Select has dropped. It also returns those dropped units that have
// functions with code but no global functions, and so can't be unneeded members of an archive.
// Rule: units that are not in the linked file. Which are reported.
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

func hasCode(s *survey.Survey, u int) bool {
	for _, id := range s.CandidatesOf(u) {
		n := &s.Nodes[id]
		if n.Kind == types.KindFunc && n.FuncFlags()&types.FuncNoCode == 0 {
			return true
		}
	}
	return false
}

// LocalNames passes the names of the local functions and variables in the wanted files of the facts
// to the function found, each with the file's index. For a clone, it passes the full name and the
// base name.
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
	for i := range f.Vars {
		if o := &f.Vars[i]; o.File >= 0 && wanted(o.File) {
			add(o.File, o.Name)
		}
	}
}
