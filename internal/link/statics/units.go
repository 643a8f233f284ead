package statics

import (
	"cmp"
	std "debug/dwarf"
	stdelf "debug/elf"
	"path"
	"slices"

	"github.com/rules-btf/rules_btf/internal/convert/compilerbtf"
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/splitdwarf"
	"github.com/rules-btf/rules_btf/internal/model/facts"
)

// unit is a compilation unit that defines some of the ambiguous variables.
type unit struct {
	number    int   // its index among the compilation units of the file
	variables []int // indexes into Facts.Vars
}

// definingUnits finds the units that define the variables of these names. It returns none if split
// units have type units.
func definingUnits(d *dwarf.Data, files *splitdwarf.Files, known *facts.Facts,
	names map[name][]int) ([]unit, error) {
	byFile := make(map[string]map[uint64][]int) // the variables by address
	for n, list := range names {
		if byFile[n.file] == nil {
			byFile[n.file] = make(map[uint64][]int)
		}
		at := byFile[n.file]
		for _, v := range list {
			o := &known.Vars[v]
			for _, s := range d.File.SectionsNamed(o.Section) {
				at[s.Addr+o.Offset] = append(at[s.Addr+o.Offset], v)
			}
		}
	}
	var units []unit
	var r dwarf.Reader
	number := -1
	for i := range d.Units {
		h := &d.Units[i]
		if h.Kind != dwarf.UnitCompile {
			continue
		}
		number++
		if err := r.Load(d, h); err != nil {
			return nil, err
		}
		split, err := files.Load(&r)
		if err != nil {
			return nil, err
		}
		found, err := defined(&r, byFile)
		if split != nil {
			types := split.Data.HasTypeUnits()
			split.Close()
			if types {
				return nil, nil
			}
		}
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			units = append(units, unit{number, found})
		}
	}
	return units, nil
}

// defined finds the variables, identified by file and address, that the loaded unit defines.
func defined(r *dwarf.Reader, byFile map[string]map[uint64][]int) ([]int, error) {
	file, err := r.String(&r.Root, dwarf.Name)
	if err != nil {
		return nil, err
	}
	own, nameless := byFile[path.Base(string(file))], byFile[""]
	if len(own)+len(nameless) == 0 {
		return nil, nil
	}
	var found []int
	var e dwarf.DIE
	for err := range r.Children(&r.Root, &e, std.TagVariable) {
		if err != nil {
			return nil, err
		}
		if addr, ok := r.VariableAddress(&e); ok {
			found = slices.Concat(found, own[addr], nameless[addr])
		}
	}
	return found, nil
}

type spot struct {
	section string
	offset  uint64
	symbol  string
}

// blobs finds the units that define the variables of these names in a file whose debugging
// information is BTF that a compiler wrote. Each unit is one blob.
func blobs(f *elf.File, known *facts.Facts, names map[name][]int) ([]unit, error) {
	sources, err := compilerbtf.Sources(f)
	if err != nil {
		return nil, err
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	at := map[spot]int{} // the variable that is there
	for _, list := range names {
		for _, v := range list {
			o := &known.Vars[v]
			at[spot{o.Section, o.Offset, o.Name}] = v
		}
	}
	found := map[int][]int{} // the variables of a blob
	for i := range symbols.List {
		s := &symbols.List[i]
		if s.Place != elf.InSection || s.Type != uint8(stdelf.STT_OBJECT) ||
			s.Bind != uint8(stdelf.STB_LOCAL) {
			continue
		}
		section := f.Sections[s.Section]
		v, ok := at[spot{section.Name, s.Value - section.Addr, symbols.Name(s)}]
		if blob, of := sources[int(s.FileIndex)]; ok && of {
			found[blob] = append(found[blob], v)
		}
	}
	var units []unit
	for blob, variables := range found {
		units = append(units, unit{blob, variables})
	}
	slices.SortFunc(units, func(a, b unit) int { return cmp.Compare(a.number, b.number) })
	return units, nil
}
