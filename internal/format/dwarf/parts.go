package dwarf

import (
	"bytes"
	"encoding/binary"
)

// part is a run of attributes of fixed sizes, and the attribute of a varying size after it, a block
// or a LEB128 number, if it is not an entry's last part.
type part struct {
	size    int32 // of the attributes, in bytes
	ops     []op  // those wanted; distances are from the start of the part
	varying op    // what follows
}

// maxPart bounds the size of a part.
const maxPart = 1 << 16

// splitParts splits the attributes of a declaration into parts at those of varying sizes: blocks,
// such as the frame base of a function or the place of a parameter, and LEB128 numbers, such as
// clang's indices of addresses. It returns nil if the sizes of other attributes vary too, but for a
// leading string.
func splitParts(specs []attrSpec, f format) []part {
	parts := []part{{}}
	for i, spec := range specs {
		p := &parts[len(parts)-1]
		size, class := f.fixedForm(spec.form)
		attr := attrFor(spec.attr)
		o := op{attr: attr, class: f.classOf(attr, spec.form, class), imm: spec.imm, off: uint32(p.size)}
		switch {
		case spec.form == formImplicit:
			o.load = loadImm
		case spec.form == formFlagPresent:
			o.load, o.imm = loadImm, 1
		case spec.form == formString && i == 0:
			o.load = loadLead
		case spec.form == formExprloc || spec.form == formBlock || isLEB(spec.form):
			o.form = uint16(spec.form)
			p.varying = o
			parts = append(parts, part{})
			continue
		case size < 0:
			return nil
		default:
			o.load = loader(size)
			if size == 16 {
				o.load = loadNone
			}
			p.size += int32(size)
		}
		if p.size > maxPart {
			return nil
		}
		if attr != numAttrs && o.load != loadNone {
			p.ops = append(p.ops, o)
		}
	}
	return parts
}

// readParts decodes an entry whose attributes begin at pos.
func (r *Reader) readParts(a *Abbrev, pos int, e *DIE) (err error) {
	lead := pos
	if a.lead {
		if pos, err = r.afterLead(e.Off, pos); err != nil {
			return err
		}
	}
	for i := range a.parts {
		p := &a.parts[i]
		end := pos + int(p.size)
		if end > len(r.buf) {
			return r.Errorf(e.Off, "the entry is cut off")
		}
		b := r.buf[pos:end]
		for i := range p.ops {
			o := &p.ops[i]
			e.Class[o.attr&31] = o.class
			if o.load == 4 { // as most are
				e.Val[o.attr&31] = uint64(r.u32(b[o.off:]))
			} else {
				e.Val[o.attr&31] = r.number(o, b, lead)
			}
		}
		if pos = end; i+1 == len(a.parts) {
			break
		}
		at, n, ok := r.varying(&p.varying, pos)
		if !ok {
			return r.Errorf(e.Off, "the entry is cut off")
		}
		if o := &p.varying; o.attr != numAttrs {
			e.Class[o.attr&31] = o.class
			if o.class == ClassBlock {
				e.Val[o.attr&31] = uint64(at) | uint64(n)<<32
			} else {
				e.Val[o.attr&31] = r.leb(o, at)
			}
		}
		pos = at + n
	}
	e.Next = uint32(pos)
	return nil
}

// number loads an attribute from the bytes of its part. lead is where the leading string is.
func (r *Reader) number(o *op, b []byte, lead int) uint64 {
	switch o.load {
	case 1:
		return uint64(b[o.off])
	case 2:
		return uint64(r.u16(b[o.off:]))
	case 4:
		return uint64(r.u32(b[o.off:]))
	case 8:
		return r.D.Order.Uint64(b[o.off:])
	case loadImm:
		return uint64(o.imm)
	case loadLead:
		return uint64(lead)
	}
	c := cursor{buf: b, pos: int(o.off)}
	return c.uint(r.D.Order, int(o.load))
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

// afterLead returns the offset after the leading string of the entry at die, whose attributes begin
// at pos.
func (r *Reader) afterLead(die uint32, pos int) (int, error) {
	n := bytes.IndexByte(r.buf[pos:], 0)
	if n < 0 {
		return 0, r.Errorf(die, "a string has no end")
	}
	return pos + n + 1, nil
}

// afterParts moves over the parts that begin at pos. The result is beyond the buffer's end if they
// are cut off.
func (r *Reader) afterParts(a *Abbrev, pos int) int {
	last := len(a.parts) - 1
	for i := range last {
		at, n, ok := r.varying(&a.parts[i].varying, pos+int(a.parts[i].size))
		if !ok {
			return len(r.buf) + 1
		}
		pos = at + n
	}
	return pos + int(a.parts[last].size)
}

// isLEB reports whether values of a form are LEB128 numbers.
func isLEB(form uint64) bool {
	switch form {
	case formUdata, formSdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex,
		formGNUStrIndex:
		return true
	}
	return false
}

// leb reads the number at pos, which is known to be whole.
func (r *Reader) leb(o *op, pos int) uint64 {
	c := cursor{buf: r.buf, pos: pos}
	if o.form == formSdata {
		return uint64(c.sleb())
	}
	return c.uleb()
}

// varying returns the size of the value of o at pos, and where it begins: of a block its bytes.
func (r *Reader) varying(o *op, pos int) (at, size int, ok bool) {
	if o.class == ClassBlock && pos < len(r.buf) && r.buf[pos] < 0x80 {
		at, size = pos+1, int(r.buf[pos])
		return at, size, size <= len(r.buf)-at
	}
	if o.class != ClassBlock {
		for at = pos; pos < len(r.buf); pos++ {
			if r.buf[pos] < 0x80 {
				return at, pos + 1 - at, true
			}
		}
		return 0, 0, false
	}
	c := cursor{buf: r.buf, pos: min(pos, len(r.buf))}
	n := c.uleb()
	return c.pos, int(n), !c.bad && n <= uint64(len(r.buf)-c.pos)
}
