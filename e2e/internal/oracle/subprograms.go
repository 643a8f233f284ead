package oracle

import (
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// subprograms has facts about some functions from the DWARF and the symbols of a linked ELF file.
type subprograms struct {
	machine elf.Machine
	// kept maps each function's name to its definitions whose code is in the file, as lists of
	// parameter names. There are several if they are static, and none if the compiler made the
	// function a jump to a function with an equal body.
	kept map[string][][]string
	// others is like kept, for the other definitions: weak definitions that were overridden but still
	// have DWARF, and static definitions that were inlined everywhere.
	others map[string][][]string
	// inlined has the names of functions that are declared inline and have no code.
	inlined map[string]bool
	// split has the names of functions from which a part was split off.
	split map[string]bool
	// renamed has the names of functions whose symbols have different names (objcopy
	// --prefix-symbols).
	renamed map[string]bool
	// lost has the names of functions with a definition whose address has no symbol, because the
	// definition is weak and was overridden.
	lost map[string]bool
	// varying has the names of functions for which the DIE that describes the code has "...", but
	// that DIE's abstract origin hasn't (clang).
	varying map[string]bool
	// arguments maps the name of each function with code to the types of its parameters.
	arguments map[string][]dwarf.Type

	at map[uint64][]string // maps an address to the symbols of functions there, without suffixes
}

func readSubprograms(path string, functions []string) *subprograms {
	f := harness.Get(elf.Open(path))
	defer f.Close()
	found := &subprograms{
		machine: f.Machine,
		kept:    map[string][][]string{}, others: map[string][][]string{},
		inlined: map[string]bool{}, split: map[string]bool{},
		renamed: map[string]bool{}, lost: map[string]bool{}, varying: map[string]bool{},
		arguments: map[string][]dwarf.Type{}, at: map[uint64][]string{},
	}
	addresses := map[string][]uint64{} // the values of each function's symbols without a suffix
	for _, name := range functions {
		addresses[name] = nil
	}
	for _, s := range harness.Get(f.Symbols()) {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC {
			continue
		}
		if f.Machine == elf.EM_ARM {
			s.Value &^= 1 // bit 0 is set for Thumb functions
		}
		base, suffix, _ := strings.Cut(s.Name, ".")
		found.at[s.Value] = append(found.at[s.Value], base)
		if _, ok := addresses[base]; !ok {
			continue
		}
		if suffix == "" {
			addresses[base] = append(addresses[base], s.Value)
		} else if strings.HasPrefix(suffix, "part") {
			found.split[base] = true
		}
	}
	data := harness.Get(f.DWARF())
	topLevel(data, func(_ *dwarf.Reader, die *dwarf.Entry) {
		if die.Tag == dwarf.TagSubprogram { // C functions are children of the unit
			found.add(data, die, addresses)
		}
	})
	return found
}

// topLevel calls the function do for the DIE of each unit, and for each child of that DIE.
func topLevel(data *dwarf.Data, do func(r *dwarf.Reader, die *dwarf.Entry)) {
	for r := data.Reader(); ; {
		die := harness.Get(r.Next())
		if die == nil {
			return
		}
		do(r, die)
		if die.Children && die.Tag != dwarf.TagCompileUnit && die.Tag != dwarf.TagPartialUnit {
			r.SkipChildren()
		}
	}
}

// add adds the facts from a DW_TAG_subprogram, if addresses has the function's name.
func (s *subprograms) add(data *dwarf.Data, die *dwarf.Entry, addresses map[string][]uint64) {
	const declaredInlined = 3 // DW_INL_declared_inlined
	name := nameOf(data, die)
	wanted, ok := addresses[name]
	if !ok {
		return
	}
	if how, _ := die.Val(dwarf.AttrInline).(int64); how == declaredInlined {
		s.inlined[name] = true
	}
	if die.Val(dwarf.AttrDeclaration) != nil {
		return
	}
	names, types := parameters(data, die)
	// If the compiler has split a function into a hot and a cold part, there are two ranges.
	ranges := harness.Get(data.Ranges(die))
	if slices.ContainsFunc(ranges, func(r [2]uint64) bool { return slices.Contains(wanted, r[0]) }) {
		s.kept[name] = append(s.kept[name], names)
	} else {
		s.others[name] = append(s.others[name], names)
	}
	if len(ranges) == 0 {
		return
	}
	s.varying[name] = onlyCodeVaries(data, die)
	switch here := s.at[ranges[0][0]]; {
	case slices.Contains(here, name):
		s.arguments[name] = types
	case len(here) > 0:
		s.renamed[name] = true
	default:
		s.lost[name] = true
	}
}

// origin starts at die, follows abstract origins and specifications, and returns the first DIE that
// has the attribute attr. It returns nil if no DIE on this path has the attribute.
func origin(data *dwarf.Data, die *dwarf.Entry, attr dwarf.Attr) *dwarf.Entry {
	for range 4 {
		if die.Val(attr) != nil {
			return die
		}
		next, ok := die.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			if next, ok = die.Val(dwarf.AttrSpecification).(dwarf.Offset); !ok {
				return nil
			}
		}
		die = at(data, next)
	}
	harness.Check(errors.New("a chain of more than 4 abstract origins"))
	return nil
}

func at(data *dwarf.Data, offset dwarf.Offset) *dwarf.Entry {
	r := data.Reader()
	r.Seek(offset)
	die := harness.Get(r.Next())
	if die == nil {
		harness.Check(fmt.Errorf("no DIE at %#x", offset))
	}
	return die
}

// nameOf returns the name of a DIE or of its origin, or "" if neither has a name.
func nameOf(data *dwarf.Data, die *dwarf.Entry) string {
	if die = origin(data, die, dwarf.AttrName); die == nil {
		return ""
	}
	name, _ := die.Val(dwarf.AttrName).(string)
	return name
}

// typeOf returns the type of a DIE or of its origin, or nil if neither has a type.
func typeOf(data *dwarf.Data, die *dwarf.Entry) dwarf.Type {
	if die = origin(data, die, dwarf.AttrType); die == nil {
		return nil
	}
	return harness.Get(data.Type(die.Val(dwarf.AttrType).(dwarf.Offset)))
}

// onlyCodeVaries reports whether the DIE die has "..." as a parameter, but its abstract origin
// hasn't.
func onlyCodeVaries(data *dwarf.Data, die *dwarf.Entry) bool {
	offset, ok := die.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
	return ok && varies(data, die) && !varies(data, at(data, offset))
}

func varies(data *dwarf.Data, die *dwarf.Entry) bool {
	return slices.ContainsFunc(children(data, die), func(child *dwarf.Entry) bool {
		return child.Tag == dwarf.TagUnspecifiedParameters
	})
}

func parameters(data *dwarf.Data, die *dwarf.Entry) (names []string, types []dwarf.Type) {
	names = []string{}
	for _, child := range children(data, die) {
		if child.Tag == dwarf.TagFormalParameter {
			names, types = append(names, nameOf(data, child)), append(types, typeOf(data, child))
		}
	}
	return names, types
}

func children(data *dwarf.Data, die *dwarf.Entry) (list []*dwarf.Entry) {
	if !die.Children {
		return nil
	}
	r := data.Reader()
	r.Seek(die.Offset)
	harness.Get(r.Next())
	for {
		child := harness.Get(r.Next())
		if child == nil || child.Tag == 0 {
			return list
		}
		list = append(list, child)
		if child.Children {
			r.SkipChildren()
		}
	}
}
