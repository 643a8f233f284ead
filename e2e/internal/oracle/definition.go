package oracle

import (
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"slices"
)

// definedParameters reads from the DWARF of a linked ELF file the names of the
// parameters of each function's definition that the link kept: the one whose
// code is where the symbol is. A weak definition that lost still has its DWARF,
// at another address.
//
// A function that is not in the result has no code in the DWARF: the compiler
// found its body equal to another one's and made it a jump there.
func definedParameters(path string, functions []string) (map[string][]string, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	address := map[string][]uint64{}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && slices.Contains(functions, s.Name) {
			address[s.Name] = append(address[s.Name], s.Value)
		}
	}
	data, err := f.DWARF()
	if err != nil {
		return nil, err
	}
	found := map[string][]string{}
	r := data.Reader()
	for {
		die, err := r.Next()
		if err != nil {
			return nil, err
		}
		if die == nil {
			return found, nil
		}
		if die.Tag != dwarf.TagSubprogram {
			continue
		}
		name, err := nameOf(data, die)
		if err != nil {
			return nil, err
		}
		if address[name] == nil {
			continue
		}
		// A function that is split into a hot and a cold part has two ranges.
		ranges, err := data.Ranges(die)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(ranges, func(r [2]uint64) bool { return slices.Contains(address[name], r[0]) }) {
			if found[name], err = parameters(data, r, die); err != nil {
				return nil, err
			}
		}
	}
}

// nameOf is a DIE's name, its own or that of its abstract origin.
func nameOf(data *dwarf.Data, die *dwarf.Entry) (string, error) {
	for range 4 {
		if name, ok := die.Val(dwarf.AttrName).(string); ok {
			return name, nil
		}
		origin, ok := die.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			if origin, ok = die.Val(dwarf.AttrSpecification).(dwarf.Offset); !ok {
				return "", nil
			}
		}
		r := data.Reader()
		r.Seek(origin)
		var err error
		if die, err = r.Next(); err != nil {
			return "", err
		}
		if die == nil {
			return "", fmt.Errorf("no DIE at %#x", origin)
		}
	}
	return "", errors.New("a chain of more than 4 abstract origins")
}

// parameters reads the names of the parameters below die; r stands behind die.
func parameters(data *dwarf.Data, r *dwarf.Reader, die *dwarf.Entry) ([]string, error) {
	names := []string{}
	if !die.Children {
		return names, nil
	}
	for {
		child, err := r.Next()
		if err != nil || child == nil || child.Tag == 0 {
			return names, err
		}
		if child.Tag == dwarf.TagFormalParameter {
			name, err := nameOf(data, child)
			if err != nil {
				return nil, err
			}
			names = append(names, name)
		}
		if child.Children {
			r.SkipChildren()
		}
	}
}
