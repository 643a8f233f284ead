package dwarf

import (
	std "debug/dwarf"
	"encoding/binary"
)

// DIE is one debugging information entry, decoded.
type DIE struct {
	Off      uint32 // of the entry
	Next     uint32 // of what follows its attributes
	Tag      std.Tag
	Children bool
	Null     bool // the end of a list of siblings
	mask     uint64
	Val      [numAttrs]uint64
	Class    [numAttrs]Class
}

// Has tells whether the attribute is present.
func (e *DIE) Has(s Attr) bool { return e.mask>>s&1 != 0 }

// Flag tells whether the attribute is present and not zero.
func (e *DIE) Flag(s Attr) bool { return e.mask>>s&1 != 0 && e.Val[s] != 0 }

// Constant tells whether the attribute is present and a number; sizes and bounds may also be
// expressions or references. In DWARF 2 and 3 numbers share forms with offsets of lists.
func (e *DIE) Constant(s Attr) bool { return e.mask>>s&1 != 0 && e.Class[s] == ClassConst }

// Value is the value of an attribute. The zero value stands for one that is absent.
type Value struct {
	Val   uint64
	Class Class
}

// Value returns an attribute.
func (e *DIE) Value(s Attr) Value {
	if !e.Has(s) {
		return Value{}
	}
	return Value{e.Val[s], e.Class[s]}
}

// Reader decodes the DIEs of one unit at a time. It keeps its memory from unit to unit.
type Reader struct {
	D    *Data
	Unit *Unit
	// Root is the unit's own DIE, after Load.
	Root DIE

	buf     []byte // the unit, header included
	own     []byte // the memory of buf, when it is not the section's own
	order   binary.ByteOrder
	little  bool
	f       format
	abbrevs abbrevTable
	plans   *plans // of abbrevs; nil where they are of no use
	isC     bool   // the unit is written in C
	indexBases
	recentFunctions
	scratch DIE
	tables  *Tables
	spending
}

// indexBases are the places from which the unit's indices count: see bases.
type indexBases struct{ strBase, adrBase uint64 }

// Load makes u the unit that is read.
func (r *Reader) Load(d *Data, u *Unit) error {
	r.D, r.Unit, r.order = d, u, d.Order
	r.little = d.Order == binary.ByteOrder(binary.LittleEndian)
	r.functions[0].of, r.functions[1].of = 0, 0
	if u.Len > 1<<32-1 {
		return d.errorf(u.Section.Name, u.Off, "a unit of %d bytes is too large", u.Len)
	}
	if u.Section.Plain() {
		if uint64(cap(r.own)) < u.Len {
			r.own = make([]byte, u.Len+u.Len/4)
		}
		r.buf = r.own[:u.Len]
		if n, err := u.Section.ReadAt(r.buf, int64(u.Off)); uint64(n) < u.Len {
			return d.errorf(u.Section.Name, u.Off, "can't read the unit: %v", err)
		}
	} else {
		data, err := u.Section.Data()
		if err != nil {
			return err
		}
		r.buf = data[u.Off : u.Off+u.Len]
	}
	r.f = format{version: u.Version, offSize: 4, addrSize: u.AddrSize}
	if u.Dwarf64 {
		r.f.offSize = 8
	}
	if err := r.loadAbbrevs(); err != nil {
		return err
	}
	r.plans = nil
	if r.little {
		r.plans = r.abbrevs.plans
	}
	if err := r.Read(u.HeaderLen, &r.Root); err != nil {
		return err
	}
	r.strBase, r.adrBase = r.bases()
	r.isC = r.Root.Has(Language) && isC(r.Root.Val[Language])
	return nil
}

// Annotated tells whether the unit can hold annotations (btf_decl_tag, btf_type_tag).
func (r *Reader) Annotated() bool { return r.abbrevs.notes }

// bases are the places in .debug_str_offsets and .debug_addr from which this unit's indices count
// (7.26, 7.27).
func (r *Reader) bases() (str, addr uint64) {
	if r.Unit.Version >= 5 {
		str, addr = 8, 8
		if r.Unit.Dwarf64 {
			str, addr = 16, 16
		}
	}
	if r.Root.Has(StrOffsetsBase) {
		str = r.Root.Val[StrOffsetsBase]
	}
	if r.Root.Has(AddrBase) {
		addr = r.Root.Val[AddrBase]
	}
	return str, addr
}

// Errorf is an error at a DIE of the unit.
func (r *Reader) Errorf(off uint32, format string, args ...any) error {
	return r.D.errorf(r.Unit.Section.Name, r.Unit.Off+uint64(off), format, args...)
}

// Read decodes the DIE at off. At the end of the unit it gives a null entry.
func (r *Reader) Read(off uint32, e *DIE) error {
	e.Off, e.mask = off, 0
	if r.work--; r.work < 0 {
		if err := r.spend(off); err != nil {
			return err
		}
	}
	pos := int(off)
	if pos >= len(r.buf) {
		e.Null, e.Next, e.Tag, e.Children = true, off, 0, false
		return nil
	}
	code := uint64(r.buf[pos])
	pos++
	if code >= 0x80 {
		c := cursor{buf: r.buf, pos: pos - 1}
		code = c.uleb()
		if c.bad {
			return r.Errorf(off, "the abbreviation code is cut off")
		}
		pos = c.pos
	}
	if code == 0 {
		e.Null, e.Next, e.Tag, e.Children = true, uint32(pos), 0, false
		return nil
	}
	a := r.abbrevs.lookup(code)
	if a == nil {
		return r.Errorf(off, "abbreviation %d is not declared", code)
	}
	e.Null, e.Tag, e.Children, e.mask = false, a.Tag, a.Children, a.mask
	if a.parts == nil {
		return r.walk(a, pos, e)
	}
	return r.readParts(a, pos, e)
}

// walk decodes an entry form by form.
func (r *Reader) walk(a *Abbrev, pos int, e *DIE) error {
	c := cursor{buf: r.buf, pos: pos}
	for i := range a.ops {
		o := &a.ops[i]
		form := uint64(o.form)
		if form == formIndirect {
			form = c.uleb()
			if form == formIndirect || form == formImplicit {
				return r.Errorf(e.Off, "form %#x can't be indirect", form)
			}
		}
		v, class, ok := r.value(&c, form, o)
		if !ok {
			return r.Errorf(e.Off, "unknown form %#x; this producer's DWARF is not supported", form)
		}
		if c.bad {
			return r.Errorf(e.Off, "the entry is cut off")
		}
		if o.attr < numAttrs && class != ClassNone {
			class = r.f.classOf(o.attr, form, class)
			e.Val[o.attr], e.Class[o.attr] = v, class
			e.mask |= 1 << o.attr
		}
	}
	e.Next = uint32(c.pos)
	return nil
}

// value reads the value of one form.
func (r *Reader) value(c *cursor, form uint64, o *op) (uint64, Class, bool) {
	if form == formImplicit {
		return uint64(o.imm), ClassConst, true
	}
	if form == formFlagPresent {
		return 1, ClassConst, true
	}
	size, class := r.f.fixedForm(form)
	if size == 16 {
		c.skip(16)
		return 0, ClassNone, true
	}
	if size >= 0 {
		return c.uint(r.order, size), class, true
	}
	var n uint64
	switch form {
	case formSdata:
		return uint64(c.sleb()), ClassConst, true
	case formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex, formGNUStrIndex:
		return c.uleb(), class, true
	case formString:
		v := uint64(c.pos)
		c.cstring()
		return v, ClassInline, true
	case formBlock, formExprloc:
		n = c.uleb()
	case formBlock1:
		n = c.uint(r.order, 1)
	case formBlock2:
		n = c.uint(r.order, 2)
	case formBlock4:
		n = c.uint(r.order, 4)
	default:
		return 0, ClassNone, false
	}
	v := uint64(c.pos) | n<<32
	c.skip(n)
	return v, ClassBlock, true
}

// Block returns the bytes of an attribute of ClassBlock.
func (r *Reader) Block(v uint64) []byte {
	off, n := uint32(v), uint32(v>>32)
	return r.buf[off : off+n]
}

// AfterChildren returns the offset after e's children: by DW_AT_sibling, or by walking over them.
func (r *Reader) AfterChildren(e *DIE) (uint32, error) {
	if !e.Children {
		return e.Next, nil
	}
	if e.Has(Sibling) && e.Class[Sibling] == ClassRef && e.Val[Sibling] > uint64(e.Off) &&
		e.Val[Sibling] <= uint64(len(r.buf)) {
		return uint32(e.Val[Sibling]), nil
	}
	return r.afterList(e.Next)
}
