package dwarf

import "encoding/binary"

// attribute is one attribute of an abbreviation declaration.
type attribute struct {
	attr  Attr // numAttrs: none that is wanted
	class Class
	size  int8 // bytes in the entry, 0 if the declaration has the value, varies
	form  uint16
	off   uint32 // of those of a fixed size: the distance from the start of their run
	imm   int64  // the value that the declaration has
}

// varies is the size of blocks, LEB128 numbers and strings.
const varies = -1

// run is attributes of fixed sizes, one after the other, and the one of a varying size after them.
// A declaration is a list of runs. That of nearly all members, parameters and enumerators is a
// single one.
type run struct {
	size   int32       // of the attributes of fixed sizes, in bytes
	wanted []attribute // of those, the ones that are wanted
	last   attribute   // the one that varies in size; the last run of an entry has none
}

// maxRun bounds the size of a run.
const maxRun = 1 << 16

// splitRuns makes a list of runs of the attributes of a declaration.
func splitRuns(specs []attrSpec, f format) []run {
	runs := []run{{}}
	for _, spec := range specs {
		r := &runs[len(runs)-1]
		attr := attrFor(spec.attr)
		size, class := f.fixedForm(spec.form)
		a := attribute{attr: attr, class: f.classOf(attr, spec.form, class), form: uint16(spec.form),
			size: int8(size), imm: spec.imm, off: uint32(r.size)}
		if uint64(a.form) != spec.form {
			a.form = 0 // is unknown too
		}
		if spec.form == formFlagPresent {
			a.imm = 1
		}
		if size == varies || r.size+int32(size) > maxRun {
			a.size = varies
			r.last = a
			runs = append(runs, run{})
			continue
		}
		r.size += int32(size)
		if attr != numAttrs && class != ClassNone {
			r.wanted = append(r.wanted, a)
		}
	}
	return runs
}

// number reads an attribute of a fixed size from the bytes of its run.
func (r *Reader) number(a *attribute, b []byte) uint64 {
	switch a.size {
	case 0:
		return uint64(a.imm)
	case 1:
		return uint64(b[a.off])
	case 2:
		return uint64(r.u16(b[a.off:]))
	case 4:
		return uint64(r.u32(b[a.off:]))
	case 8:
		return r.D.Order.Uint64(b[a.off:])
	}
	c := cursor{buf: b, pos: int(a.off)}
	return c.uint(r.D.Order, int(a.size))
}

func (r *Reader) u16(b []byte) uint16 {
	if r.little {
		return binary.LittleEndian.Uint16(b)
	}
	return binary.BigEndian.Uint16(b)
}

func (r *Reader) u32(b []byte) uint32 {
	if r.little {
		return binary.LittleEndian.Uint32(b)
	}
	return binary.BigEndian.Uint32(b)
}

// varying reads the attribute at pos, whose size varies, of the entry at die. next is the offset
// after it.
func (r *Reader) varying(die uint32, a *attribute, pos int) (v Value, next int, err error) {
	if pos < len(r.buf) && r.buf[pos] < 0x80 { // a number of a single byte, as nearly all
		n := uint64(r.buf[pos])
		pos++
		switch {
		case isULEB(a.form):
			return Value{n, a.class}, pos, nil
		case isBlock(a.form) && n <= uint64(len(r.buf)-pos):
			return Value{uint64(pos) | n<<32, a.class}, pos + int(n), nil
		}
		pos--
	}
	c := cursor{buf: r.buf, pos: pos}
	v, err = r.next(&c, die, a)
	return v, c.pos, err
}

// isULEB reports whether values of a form are unsigned LEB128 numbers.
func isULEB(form uint16) bool {
	switch form {
	case formUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex, formGNUStrIndex:
		return true
	}
	return false
}

// isLEB reports whether values of a form are LEB128 numbers, but for references.
func isLEB(form uint16) bool { return form == formSdata || isULEB(form) }

// isBlock reports whether values of a form are a LEB128 number and as many bytes.
func isBlock(form uint16) bool { return form == formExprloc || form == formBlock }

// next reads an attribute of any form of the entry at die.
func (r *Reader) next(c *cursor, die uint32, a *attribute) (Value, error) {
	form := uint64(a.form)
	if form == formIndirect {
		form = c.uleb()
		if form == formIndirect || form == formImplicit {
			return Value{}, r.Errorf(die, "form %#x can't be indirect", form)
		}
	}
	v, known := r.value(c, form, a.imm)
	if !known {
		return v, r.Errorf(die, "unknown form %#x; this producer's DWARF is not supported", form)
	}
	if c.bad {
		return v, r.Errorf(die, "the entry is cut off")
	}
	v.Class = r.f.classOf(a.attr, form, v.Class)
	return v, nil
}

// value reads the value of a form (7.5.6). imm is what the declaration says of it.
func (r *Reader) value(c *cursor, form uint64, imm int64) (v Value, known bool) {
	size, class := r.f.fixedForm(form)
	v.Class = class
	switch {
	case form == formImplicit:
		v.Val = uint64(imm)
	case form == formFlagPresent:
		v.Val = 1
	case form == formSdata:
		v.Val = uint64(c.sleb())
	case size == 16:
		c.skip(16)
	case size >= 0:
		v.Val = c.uint(r.D.Order, size)
	case class == ClassInline:
		v.Val = uint64(c.pos)
		c.cstring()
	case class == ClassBlock:
		var n uint64
		switch form {
		case formBlock1:
			n = c.uint(r.D.Order, 1)
		case formBlock2:
			n = c.uint(r.D.Order, 2)
		case formBlock4:
			n = c.uint(r.D.Order, 4)
		default:
			n = c.uleb()
		}
		v.Val = uint64(c.pos) | n<<32
		c.skip(n)
	case class == ClassNone:
		return v, false
	default:
		v.Val = c.uleb()
	}
	return v, true
}
