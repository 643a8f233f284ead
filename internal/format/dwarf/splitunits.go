package dwarf

import (
	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// splitUnits are the units in the sections .debug_*.dwo of a file: a .dwo file, an object file with
// such sections (-gsplit-dwarf=single), or a package of many .dwo files (.dwp).
type splitUnits struct {
	ids     map[uint64]int         // dwo id → index in Data.Units
	origins map[contribution][]int // the type units from each .dwo file
	first   map[contribution]int   // the first compilation unit from each .dwo file
}

// contribution has the offsets at which the part from one .dwo file begins in each section of a
// package. It is zero for a file that is not a package.
type contribution struct{ abbrev, strOffsets, locs, rnglists uint64 }

// origin identifies the .dwo file that u came from. It uses only columns that the index has for all
// units from that file: for type units, the columns of locations and ranges may be missing.
func (u *Unit) origin() contribution {
	if u.from == nil {
		return contribution{}
	}
	return contribution{abbrev: u.from.abbrev, strOffsets: u.from.strOffsets}
}

// NewSplit lists the units in the .debug_*.dwo sections of f. The addresses of these units are in
// the file with their skeleton units. If f has no such sections, the result has no units.
func NewSplit(f *elf.File) (*Data, error) {
	d := &Data{File: f, Order: f.Order, sigs: make(map[uint64]int), dwo: &splitUnits{
		ids: make(map[uint64]int), origins: make(map[contribution][]int),
		first: make(map[contribution]int)}}
	if err := d.read(".dwo"); err != nil {
		return nil, err
	}
	index := f.Section(".debug_cu_index")
	var err error
	if index != nil {
		err = d.readIndexes(index, f.Section(".debug_tu_index"))
	} else {
		err = d.readIDs()
	}
	if err != nil {
		return nil, err
	}
	for i := range d.Units {
		u := &d.Units[i]
		if u.Kind == UnitType && d.sigs[u.Signature] == i {
			d.dwo.origins[u.origin()] = append(d.dwo.origins[u.origin()], i)
		}
		if _, ok := d.dwo.first[u.origin()]; !ok && u.Kind != UnitType {
			d.dwo.first[u.origin()] = i
		}
	}
	return d, nil
}

// readIDs notes the dwo ids of the units of a file that is not a package.
func (d *Data) readIDs() error {
	var r Reader
	for i := range d.Units {
		u := &d.Units[i]
		if u.Kind == UnitType {
			continue
		}
		if u.Version < 5 {
			if err := r.Load(d, u); err != nil {
				return err
			}
			err := r.rootAttributes(func(code uint64, v Value) error {
				if code == codeGNUDwoID {
					u.Signature = v.Val
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		if _, ok := d.dwo.ids[u.Signature]; !ok {
			d.dwo.ids[u.Signature] = i
		}
	}
	return nil
}

// SplitUnit returns the split compilation unit with the given dwo id, or nil if there is none.
func (d *Data) SplitUnit(id uint64) *Unit {
	if i, ok := d.dwo.ids[id]; ok {
		return &d.Units[i]
	}
	return nil
}

// SplitUnits counts the split compilation units.
func (d *Data) SplitUnits() int { return len(d.dwo.ids) }

// TypeUnitsOf returns the type units, one per signature, from the .dwo file of u, a split
// compilation unit. If the file has several compilation units, only the first gets the type units.
func (d *Data) TypeUnitsOf(u *Unit) []*Unit {
	if i, ok := d.dwo.first[u.origin()]; !ok || &d.Units[i] != u {
		return nil
	}
	var list []*Unit
	for _, i := range d.dwo.origins[u.origin()] {
		list = append(list, &d.Units[i])
	}
	return list
}

// For returns a copy of d for another input, with the given Data.Prefix and a new budget.
func (d *Data) For(prefix []byte) *Data {
	return &Data{File: d.File, Order: d.Order, Units: d.Units, Prefix: prefix, sections: d.sections,
		size: d.size, sigs: d.sigs, dwo: d.dwo}
}

// IsSplit reports whether the units are in the sections .debug_*.dwo.
func (d *Data) IsSplit() bool { return d.dwo != nil }
