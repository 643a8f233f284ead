package statics

import (
	"cmp"
	stdelf "debug/elf"
	"slices"

	"github.com/rules-btf/rules_btf/internal/convert/compilerbtf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/facts"
)

// spot is where a variable is, and its symbol's name.
type spot struct {
	section string
	offset  uint64
	symbol  string
}

// blobs finds the units that define the variables of these names in a file whose debugging
// information is BTF that a compiler wrote. That has no addresses, but the local symbols of a unit
// follow its STT_FILE, and the unit is a blob.
func blobs(f *elf.File, known *facts.Facts, names map[name][]int) ([]unit, error) {
	sources, err := compilerbtf.Sources(f)
	if err != nil {
		return nil, err
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	at := map[spot]int{} // the variables
	for _, list := range names {
		for _, v := range list {
			o := &known.Objects[v]
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
