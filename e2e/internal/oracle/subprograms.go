package oracle

import (
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// subprograms is what the DWARF and the symbols of a linked ELF file say about some functions, by
// name.
type subprograms struct {
	machine elf.Machine
	// kept has the names of the parameters of the definitions that the link kept, whose code is at a
	// symbol's address: one, or several static ones. If a function is missing here, no definition has
	// code: the compiler found its body equal to another one's, and made it a jump to that.
	kept map[string][][]string
	// others has those of the other definitions: weak ones that lost, which still have their DWARF,
	// and static ones that were inlined everywhere.
	others map[string][][]string
	// inlined has the functions of whose name there is also one that is declared inline and has no
	// code.
	inlined map[string]bool
	// split has the functions of which a part was split off.
	split map[string]bool
	// renamed has the functions of whose name there is also one whose symbol has another name
	// (objcopy --prefix-symbols).
	renamed map[string]bool
	// lost has the functions of whose name there is also one with code, but without a symbol there: a
	// weak definition that lost.
	lost map[string]bool
	// varying has the functions whose code takes "..." and whose abstract origin has none (clang).
	varying map[string]bool
	// arguments has the types of the parameters of each function with code.
	arguments map[string][]dwarf.Type

	at map[uint64][]string // the names, without suffix, of the functions that start at an address
}

// readSubprograms reads what the file at path says about some functions.
func readSubprograms(path string, functions []string) (*subprograms, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	found := &subprograms{
		machine: f.Machine,
		kept:    map[string][][]string{}, others: map[string][][]string{},
		inlined: map[string]bool{}, split: map[string]bool{},
		renamed: map[string]bool{}, lost: map[string]bool{}, varying: map[string]bool{},
		arguments: map[string][]dwarf.Type{}, at: map[uint64][]string{},
	}
	addresses := map[string][]uint64{} // of each function's symbols without a suffix
	for _, name := range functions {
		addresses[name] = nil
	}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC {
			continue
		}
		if f.Machine == elf.EM_ARM {
			s.Value &^= 1 // of Thumb functions
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
	data, err := f.DWARF()
	if err != nil {
		return nil, err
	}
	r := data.Reader()
	for {
		die, err := r.Next()
		if err != nil || die == nil {
			return found, err
		}
		switch {
		case die.Tag == dwarf.TagCompileUnit || die.Tag == dwarf.TagPartialUnit:
			continue
		case die.Tag == dwarf.TagSubprogram:
			if err := found.add(data, die, addresses); err != nil {
				return nil, err
			}
		}
		if die.Children {
			r.SkipChildren() // functions of C are children of the unit
		}
	}
}

// add adds what a DW_TAG_subprogram says, if it is one of the functions in addresses.
func (s *subprograms) add(data *dwarf.Data, die *dwarf.Entry, addresses map[string][]uint64) error {
	const declaredInlined = 3 // DW_INL_declared_inlined
	name, err := nameOf(data, die)
	if err != nil {
		return err
	}
	wanted, ok := addresses[name]
	if !ok {
		return nil
	}
	if how, _ := die.Val(dwarf.AttrInline).(int64); how == declaredInlined {
		s.inlined[name] = true
	}
	if die.Val(dwarf.AttrDeclaration) != nil {
		return nil
	}
	names, types, err := parameters(data, die)
	if err != nil {
		return err
	}
	// A function that is split into a hot and a cold part has two ranges.
	ranges, err := data.Ranges(die)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(ranges, func(r [2]uint64) bool { return slices.Contains(wanted, r[0]) }) {
		s.kept[name] = append(s.kept[name], names)
	} else {
		s.others[name] = append(s.others[name], names)
	}
	if len(ranges) == 0 {
		return nil
	}
	if s.varying[name], err = onlyCodeVaries(data, die); err != nil {
		return err
	}
	switch here := s.at[ranges[0][0]]; {
	case slices.Contains(here, name):
		s.arguments[name] = types
	case len(here) > 0:
		s.renamed[name] = true
	default:
		s.lost[name] = true
	}
	return nil
}

// origin follows abstract origins and specifications from die to the first DIE that has the
// attribute. It returns nil if no DIE has it.
func origin(data *dwarf.Data, die *dwarf.Entry, attr dwarf.Attr) (*dwarf.Entry, error) {
	for range 4 {
		if die.Val(attr) != nil {
			return die, nil
		}
		next, ok := die.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			if next, ok = die.Val(dwarf.AttrSpecification).(dwarf.Offset); !ok {
				return nil, nil
			}
		}
		r := data.Reader()
		r.Seek(next)
		var err error
		if die, err = r.Next(); err != nil {
			return nil, err
		}
		if die == nil {
			return nil, fmt.Errorf("no DIE at %#x", next)
		}
	}
	return nil, errors.New("a chain of more than 4 abstract origins")
}

// nameOf returns the name of a DIE or of its abstract origin, "" if neither has a name.
func nameOf(data *dwarf.Data, die *dwarf.Entry) (string, error) {
	die, err := origin(data, die, dwarf.AttrName)
	if die == nil || err != nil {
		return "", err
	}
	name, _ := die.Val(dwarf.AttrName).(string)
	return name, nil
}

// typeOf returns the type of a DIE or of its abstract origin, nil if neither has a type.
func typeOf(data *dwarf.Data, die *dwarf.Entry) (dwarf.Type, error) {
	die, err := origin(data, die, dwarf.AttrType)
	if die == nil || err != nil {
		return nil, err
	}
	return data.Type(die.Val(dwarf.AttrType).(dwarf.Offset))
}

// onlyCodeVaries reports whether die ends its parameters with "..." and its abstract origin
// doesn't.
func onlyCodeVaries(data *dwarf.Data, die *dwarf.Entry) (bool, error) {
	offset, ok := die.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
	if !ok {
		return false, nil
	}
	varies := func(die *dwarf.Entry) (found bool, err error) {
		err = children(data, die, func(child *dwarf.Entry) error {
			found = found || child.Tag == dwarf.TagUnspecifiedParameters
			return nil
		})
		return found, err
	}
	if found, err := varies(die); !found || err != nil {
		return false, err
	}
	r := data.Reader()
	r.Seek(offset)
	abstract, err := r.Next()
	if abstract == nil || err != nil {
		return false, err
	}
	found, err := varies(abstract)
	return !found, err
}

// parameters returns the names and types of the parameters among the children of die.
func parameters(
	data *dwarf.Data, die *dwarf.Entry,
) (names []string, types []dwarf.Type, err error) {
	names = []string{}
	err = children(data, die, func(child *dwarf.Entry) error {
		if child.Tag != dwarf.TagFormalParameter {
			return nil
		}
		name, err := nameOf(data, child)
		if err != nil {
			return err
		}
		typ, err := typeOf(data, child)
		names, types = append(names, name), append(types, typ)
		return err
	})
	return names, types, err
}

// children calls do with each child of die.
func children(data *dwarf.Data, die *dwarf.Entry, do func(child *dwarf.Entry) error) error {
	if !die.Children {
		return nil
	}
	r := data.Reader()
	r.Seek(die.Offset)
	if _, err := r.Next(); err != nil {
		return err
	}
	for {
		child, err := r.Next()
		if err != nil || child == nil || child.Tag == 0 {
			return err
		}
		if err := do(child); err != nil {
			return err
		}
		if child.Children {
			r.SkipChildren()
		}
	}
}
