package dwarf

import (
	"encoding/binary"

	"github.com/rules-btf/rules_btf/internal/elf"
)

// A package has two indexes, of its compilation units and of its type units: a hash table of dwo
// ids or signatures, and a row for each unit with what it has of each section (DWARF 5, 7.3.5.3;
// version 2 is that of the extension for DWARF 4). The table is read from one end to the other.

// indexRow is what an index says of one unit.
type indexRow struct {
	id   uint64 // dwo id or signature
	off  uint64 // of the unit's header
	from contribution
}

// Numbers of sections in an index (DW_SECT, table 7.1). In version 2, 5 is .debug_loc and there is
// no 8.
const (
	sectInfo       = 1
	sectTypes      = 2 // version 2
	sectAbbrev     = 3
	sectLocs       = 5
	sectStrOffsets = 6
	sectRnglists   = 8 // version 5
)

// maxColumns bounds the sections of an index; there are eight kinds.
const maxColumns = 16

// unitIndex is one of the two indexes.
type unitIndex struct {
	version uint64
	rows    []indexRow
}

// parseIndex reads an index, of type units or of compilation units. problem says what is wrong with
// it, and where.
func parseIndex(order binary.ByteOrder, b []byte, types bool) (x unitIndex, at int,
	problem string) {
	c := cursor{buf: b}
	version := c.uint(order, 4)
	if version == 5<<16 { // of two bytes, before two for alignment
		version = 5
	}
	columns, units, slots := c.uint(order, 4), c.uint(order, 4), c.uint(order, 4)
	switch {
	case c.bad:
		return x, 0, "the header is cut off"
	case version != 2 && version != 5:
		return x, 0, "this version of an index is not supported (2 and 5 are)"
	case units == 0:
		return x, 0, ""
	case columns == 0 || columns > maxColumns:
		return x, 4, "the number of sections is out of bounds"
	case uint64(len(b)) < 16+12*slots+4*columns*(1+2*units):
		return x, 8, "the tables go beyond the end of the section; the file is truncated or damaged"
	}
	x.version = version
	ids, numbers := c, c
	numbers.skip(8 * slots)
	head := numbers
	head.skip(4 * slots)
	sects := make([]uint64, columns)
	for i := range sects {
		sects[i] = head.uint(order, 4)
	}
	header := uint64(sectInfo)
	if types && version == 2 {
		header = sectTypes
	}
	used := make([]bool, units)
	for range slots {
		at := numbers.pos
		id, row := ids.uint(order, 8), numbers.uint(order, 4)
		if row == 0 {
			continue
		}
		if row > units || used[row-1] {
			return x, at, "a slot of the table names a row that is not there, or another's"
		}
		used[row-1] = true
		cells := cursor{buf: b, pos: head.pos + int(4*columns*(row-1))}
		r := indexRow{id: id}
		for _, sect := range sects {
			off := cells.uint(order, 4)
			switch {
			case sect == header:
				r.off = off
			case sect == sectAbbrev:
				r.from.abbrev = off
			case sect == sectLocs:
				r.from.locs = off
			case sect == sectStrOffsets:
				r.from.strOffsets = off
			case sect == sectRnglists && version == 5:
				r.from.rnglists = off
			}
		}
		x.rows = append(x.rows, r)
	}
	return x, 0, ""
}

// readIndexes notes the dwo ids of a package's units, and what came from which file. types is nil
// if there is no such index.
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
		x, off, problem := parseIndex(d.Order, data, sec == types)
		if problem != "" {
			return d.errorf(sec.Name, uint64(off), "%s", problem)
		}
		for i := range x.rows {
			row := &x.rows[i]
			n, ok := at[place{sec == types && x.version == 2, row.off}]
			if !ok || d.Units[n].from != nil || (d.Units[n].Kind == UnitType) != (sec == types) {
				return d.errorf(sec.Name, 0, "the unit %#016x should be at %#x, where no such unit "+
					"begins; the package is damaged, or too large for its index", row.id, row.off)
			}
			u := &d.Units[n]
			if (u.Kind == UnitType || u.Version >= 5) && u.Signature != row.id {
				return d.errorf(sec.Name, 0, "the unit at %#x is %#016x, not %#016x; the package is "+
					"damaged", row.off, u.Signature, row.id)
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
