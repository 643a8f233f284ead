package dwarf

import "encoding/binary"

type attribute struct {
	attr  Attr // numAttrs if it is not wanted
	class Class
	size  int8 // bytes in the entry, or -1 (see varies); 0 if the value is in the declaration
	form  uint16
	off   uint32 // if the size is fixed: the distance from the start of its run
	imm   int64  // the value, if it is in the declaration; otherwise 0
	mask  uint64 // if the size is fixed: which bits of a word at off are the value
}

// varies is the value of attribute.size for blocks, LEB128 numbers and strings.
const varies = -1

// run is a sequence of attributes with fixed sizes, and the attribute of varying size after them.
// Nearly all members, parameters and enumerators have a single run.
type run struct {
	size   int32       // bytes of the attributes of fixed size
	wanted []attribute // the wanted attributes of fixed size
	last   attribute   // the attribute that varies in size; none in the last run of an entry
}

const (
	maxRun   = 1 << 16
	shortRun = 64 // with this size or less, each attribute begins in the first 64 bytes of a window
)

func splitRuns(specs []attrSpec, f format) []run {
	runs := []run{{}}
	for _, spec := range specs {
		r := &runs[len(runs)-1]
		attr := attrFor(spec.attr)
		size, class := f.fixedForm(spec.form)
		a := attribute{attr: attr, class: f.classOf(attr, spec.form, class), form: uint16(spec.form),
			size: int8(size), imm: spec.imm, off: uint32(r.size)}
		if uint64(a.form) != spec.form {
			a.form = 0 // which is also an unknown form
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
		a.mask = 1<<(8*size) - 1
		r.size += int32(size)
		if attr != numAttrs && class != ClassNone {
			r.wanted = append(r.wanted, a)
		}
	}
	return runs
}

// readShort reads the wanted attributes of a short run into e. b begins with the run, in little-
// endian order. All attributes are read in the same way, because their sizes are hard to predict.
func (r *run) readShort(e *DIE, b *window) {
	for i := range r.wanted {
		a := &r.wanted[i]
		e.Class[a.attr&31] = a.class
		e.Val[a.attr&31] = u64(b, a.off)&a.mask | uint64(a.imm)
	}
}

// readRun reads the wanted attributes of any run into e. b has the bytes of the run.
func (r *Reader) readRun(e *DIE, run *run, b []byte) {
	for i := range run.wanted {
		a := &run.wanted[i]
		e.Class[a.attr&31] = a.class
		e.Val[a.attr&31] = r.readFixed(a, b)
	}
}

// readFixed reads an attribute of fixed size from the bytes of its run.
func (r *Reader) readFixed(a *attribute, b []byte) uint64 {
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

// readVarying reads the attribute at pos, whose size varies, in the entry at offset die. next is
// the offset after the attribute.
func (r *Reader) readVarying(die uint32, a *attribute, pos int) (v Value, next int, err error) {
	if pos < len(r.buf) && r.buf[pos] < 0x80 { // the number has one byte, as nearly always
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
	v, err = r.readAttribute(&c, die, a)
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

// isLEB reports whether values of a form are LEB128 numbers, but not references.
func isLEB(form uint16) bool { return form == formSdata || isULEB(form) }

// isBlock reports whether values of a form are a LEB128 number followed by that number of bytes.
func isBlock(form uint16) bool { return form == formExprloc || form == formBlock }

// readAttribute reads an attribute of any form. Errors name the entry at offset die.
func (r *Reader) readAttribute(c *cursor, die uint32, a *attribute) (Value, error) {
	form := uint64(a.form)
	if form == formIndirect {
		form = c.uleb()
		if form == formIndirect || form == formImplicit {
			return Value{}, r.Damaged(die, "form %#x can't be indirect", form)
		}
	}
	v, known := r.readForm(c, form, a.imm)
	if !known {
		return v, r.Errorf(die, unknownForm, form)
	}
	if c.bad {
		return v, r.Damaged(die, "the entry is cut off")
	}
	v.Class = r.f.classOf(a.attr, form, v.Class)
	return v, nil
}

// readForm reads a value of the given form (7.5.6). imm is the constant in the declaration.
func (r *Reader) readForm(c *cursor, form uint64, imm int64) (v Value, known bool) {
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
