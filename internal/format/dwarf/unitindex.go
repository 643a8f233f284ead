package dwarf

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// A package has two indexes, one for its compilation units and one for its type units. An index
// consists of a hash table of dwo ids or signatures, and a row for each unit (DWARF 5, 7.3.5.3;
// version 2 of the index belongs to the extension for DWARF 4). A row has an offset and a size for
// each section that has a column. This code reads the hash table from start to end.

type indexRow struct {
	id   uint64 // dwo id or signature
	off  uint64 // offset of the unit's header
	from contribution
}

type column struct {
	number   uint64 // number of the section (DW_SECT, table 7.1)
	name     string // name of the section
	optional bool   // the column may be missing, even if the section has bytes
	to       func(r *indexRow) *uint64
	size     uint64 // bytes of the section
	at       int    // the place of the column in the index, or -1 if missing
}

// columns returns the columns that are read from an index of version 2 or 5.
func columns(version uint64, types bool) []column {
	list := []column{
		{1, ".debug_info.dwo", false, func(r *indexRow) *uint64 { return &r.off }, 0, -1},
		{3, ".debug_abbrev.dwo", false, func(r *indexRow) *uint64 { return &r.from.abbrev }, 0, -1},
		{6, ".debug_str_offsets.dwo", false,
			func(r *indexRow) *uint64 { return &r.from.strOffsets }, 0, -1},
		{5, ".debug_loclists.dwo", types, func(r *indexRow) *uint64 { return &r.from.locs }, 0, -1},
		{8, ".debug_rnglists.dwo", types,
			func(r *indexRow) *uint64 { return &r.from.rnglists }, 0, -1},
	}
	if version == 5 {
		return list
	}
	if types {
		list[0].number, list[0].name = 2, ".debug_types.dwo"
	}
	list[3].name = ".debug_loc.dwo"
	return list[:4]
}

// maxColumns limits the columns of an index; there are eight kinds of sections.
const maxColumns = 16

type unitIndex struct {
	version uint64
	rows    []indexRow
}

// runDwp is the advice for a package (.dwp) whose index is wrong.
const runDwp = "run dwp again"

// parseIndex reads an index: of type units if types is set, otherwise of compilation units. size
// returns the size of a section in the package. at is the offset at which an error was found.
// Rule: split DWARF (-gsplit-dwarf): packages (.dwp). Source: elfutils
// libdw/dwarf_cu_dwp_section_info.c.
func parseIndex(order binary.ByteOrder, b []byte, types bool, size func(name string) uint64) (
	x unitIndex, at int, err error) {
	c := cursor{buf: b}
	version := c.uint(order, 4)
	if version == 5<<16 { // a big-endian 2-byte version and 2 bytes of padding
		version = 5
	}
	width, units, slots := c.uint(order, 4), c.uint(order, 4), c.uint(order, 4)
	switch {
	case c.bad:
		return x, 0, errors.New("the header is cut off")
	case version != 2 && version != 5:
		return x, 0, errors.New("this index version is not supported (only 2 and 5 are)")
	case units == 0:
		return x, 0, nil
	case width == 0 || width > maxColumns:
		return x, 4, errors.New("the number of sections is out of bounds")
	case uint64(len(b)) < 16+12*slots+4*width*(1+2*units):
		return x, 8, errors.New("the tables exceed the section")
	}
	x.version = version
	ids, numbers := c, c
	numbers.skip(8 * slots)
	head := numbers
	head.skip(4 * slots)
	list := columns(version, types)
	for i := range list {
		list[i].size = size(list[i].name)
	}
	for i := range int(width) {
		at := head.pos
		number := head.uint(order, 4)
		for j := range list {
			switch c := &list[j]; {
			case c.number != number:
			case c.at >= 0:
				return x, at, fmt.Errorf("the index has two columns for %s", c.name)
			default:
				c.at = i
			}
		}
	}
	for _, c := range list {
		if c.at < 0 && c.size > 0 && !c.optional {
			return x, head.pos, fmt.Errorf("the index has no column for %s, though the section is not "+
				"empty", c.name)
		}
	}
	used := make([]bool, units)
	for range slots {
		at := numbers.pos
		id, row := ids.uint(order, 8), numbers.uint(order, 4)
		if row == 0 {
			continue
		}
		if row > units || used[row-1] {
			return x, at, errors.New("a slot of the table refers to a row that is missing or in use")
		}
		used[row-1] = true
		r := indexRow{id: id}
		for _, c := range list {
			if c.at < 0 {
				continue
			}
			at := head.pos + 4*(int(width*(row-1))+c.at)
			offsets, sizes := cursorAt(b, uint64(at)), cursorAt(b, uint64(at)+4*width*units)
			off, size := offsets.uint(order, 4), sizes.uint(order, 4)
			if off+size > c.size {
				return x, at, fmt.Errorf("the unit %#016x has bytes %#x to %#x of %s, which has "+
					"only %#x", id, off, off+size, c.name, c.size)
			}
			if size == 0 {
				off = c.size // so that reads fail, instead of reading another unit's bytes
			}
			*c.to(&r) = off
		}
		x.rows = append(x.rows, r)
	}
	return x, 0, nil
}

// readIndexes notes the dwo ids of a package's units, and the .dwo file that each unit came from.
// types is nil if the package has no index of type units.
func (d *Data) readIndexes(units, types *elf.Section) error {
	type place struct {
		types bool
		off   uint64
	}
	at := make(map[place]int, len(d.Units))
	for i := range d.Units {
		u := &d.Units[i]
		at[place{u.Section != d.info, u.Off}] = i
	}
	for _, sec := range []*elf.Section{units, types} {
		if sec == nil {
			continue
		}
		data, err := sec.Data()
		if err != nil {
			return err
		}
		var failed error
		x, off, err := parseIndex(d.Order, data, sec == types, func(name string) uint64 {
			sec, err := oneSection(d.File, name)
			if sec == nil || err != nil {
				failed = cmp.Or(failed, err)
				return 0
			}
			size, err := dataSize(sec)
			failed = cmp.Or(failed, err)
			return size
		})
		if failed != nil {
			return failed
		}
		if err != nil {
			return d.errorf(sec.Name, uint64(off), "%v; "+runDwp, err)
		}
		for i := range x.rows {
			row := &x.rows[i]
			n, ok := at[place{sec == types && x.version == 2, row.off}]
			if !ok || d.Units[n].from != nil || (d.Units[n].Kind == UnitType) != (sec == types) {
				return d.errorf(sec.Name, 0, "the unit %#016x should be at %#x, where no such unit "+
					"begins; the package is damaged, or too large for its index: run dwp again, or pass "+
					"the directory of the .dwo files with --debug-dir", row.id, row.off)
			}
			u := &d.Units[n]
			if (u.Kind == UnitType || u.Version >= 5) && u.Signature != row.id {
				return d.errorf(sec.Name, 0, "the unit at %#x is %#016x, not %#016x; "+runDwp,
					row.off, u.Signature, row.id)
			}
			u.from, u.Signature = &row.from, row.id
			u.AbbrevOff += row.from.abbrev
			if sec == units {
				d.dwo.ids[row.id] = n
			}
		}
	}
	return nil
}
