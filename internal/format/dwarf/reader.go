package dwarf

import "encoding/binary"

// Reader decodes the DIEs of one unit at a time. It reuses its memory for the next unit.
type Reader struct {
	D    *Data
	Unit *Unit
	in   *Data // the Data of the unit's file: D, or the supplementary file's
	// Root is the unit's own DIE. Load sets it.
	Root DIE

	buf     []byte // the unit, header included
	own     []byte // the memory of buf, unless buf is part of the section's memory
	little  bool   // little-endian
	f       format
	abbrevs abbrevTable
	isC     bool   // the unit is written in C
	strBase uint64 // the offset at which the unit's string indices begin
	addressing
	recentFunctions
	tables *Tables
	work   int64 // entries that may be read before the next call of spend
}

// Load makes u the unit that r reads.
func (r *Reader) Load(d *Data, u *Unit) error {
	if err := r.open(d, u); err != nil {
		return err
	}
	if err := r.loadAbbrevs(); err != nil {
		return err
	}
	if err := r.Read(u.HeaderLen, &r.Root); err != nil {
		return err
	}
	r.strBase, r.addressing = r.bases()
	r.isC = r.Root.Has(Language) && isC(r.Root.Val[Language])
	return nil
}

// open makes r read the bytes of u.
func (r *Reader) open(d *Data, u *Unit) error {
	if r.D != d {
		r.abbrevs.valid, r.work = false, 0
	}
	r.D, r.Unit, r.in = d, u, d
	if u.sup {
		r.in = d.sup
	}
	r.little = d.Order == binary.ByteOrder(binary.LittleEndian)
	r.functions[0].of, r.functions[1].of = 0, 0
	if u.Len > 1<<32-1 {
		return r.in.errorf(u.Section.Name, u.Off, "a unit of %d bytes is too large", u.Len)
	}
	if u.Section.Plain() {
		if uint64(cap(r.own)) < u.Len {
			r.own = make([]byte, u.Len+u.Len/4)
		}
		r.buf = r.own[:u.Len]
		if n, err := u.Section.ReadAt(r.buf, int64(u.Off)); uint64(n) < u.Len {
			return r.in.errorf(u.Section.Name, u.Off, "can't read the unit: %v", err)
		}
	} else {
		data, err := u.Section.Data()
		if err != nil {
			return err
		}
		r.buf = data[u.Off : u.Off+u.Len]
	}
	r.f = format{version: u.Version, offSize: 4, addrSize: u.AddrSize, sup: r.in != d}
	if u.Dwarf64 {
		r.f.offSize = 8
	}
	return nil
}

// Forget ends the use of the loaded unit, so that r can read another file. r keeps only what
// doesn't depend on the file: memory, and compiled abbreviation declarations. If r shares tables,
// the unit's table is dropped there.
func (r *Reader) Forget() {
	if r.tables != nil {
		delete(r.tables.byKey, tableKey{r.Unit.AbbrevOff, r.f})
		r.abbrevs = abbrevTable{}
	}
	r.D, r.in, r.Unit, r.buf, r.work = nil, nil, nil, nil, 0
	r.abbrevs.valid = false
}

// Annotated reports whether the unit can hold annotations (btf_decl_tag, btf_type_tag).
func (r *Reader) Annotated() bool { return r.abbrevs.annotated }

// IsC reports whether the unit is written in C.
func (r *Reader) IsC() bool { return r.isC }

// bases returns where this unit's indices begin in .debug_str_offsets and .debug_addr (7.26, 7.27).
func (r *Reader) bases() (str uint64, a addressing) {
	a.addr, a.ranges = r.in.addr, r.in.ranges
	if r.Unit.Version >= 5 {
		str, a.base = 8, 8
		if r.Unit.Dwarf64 {
			str, a.base = 16, 16
		}
	}
	if r.Root.Has(StrOffsetsBase) {
		str = r.Root.Val[StrOffsetsBase]
	}
	if r.Root.Has(AddrBase) {
		a.base = r.Root.Val[AddrBase]
	}
	if r.Unit.from != nil {
		str += r.Unit.from.strOffsets
	}
	return str, a
}

// Damaged is like Errorf, for DWARF that no compiler writes.
func (r *Reader) Damaged(off uint32, format string, args ...any) error {
	return r.in.damaged(r.Unit.Section.Name, r.Unit.Off+uint64(off), format, args...)
}

// Errorf returns an error at a DIE of the unit.
func (r *Reader) Errorf(off uint32, format string, args ...any) error {
	return r.in.errorf(r.Unit.Section.Name, r.Unit.Off+uint64(off), format, args...)
}
