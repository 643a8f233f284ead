package dwarf

import (
	"bytes"
	"encoding/binary"
)

// part is a run of attributes of fixed sizes, and the block after it, if it is not an entry's last
// part.
type part struct {
	size  int32 // of the attributes, in bytes
	ops   []op  // those wanted; distances are from the start of the part
	block Attr  // what the block is
}

// maxPart bounds the size of a part.
const maxPart = 1 << 16

// splitParts splits the attributes of a declaration with blocks, such as the frame base of a
// function or the place of a parameter, into parts. It returns nil if the sizes of other attributes
// vary too, but for a leading string.
func splitParts(specs []attrSpec, f format) []part {
	parts := []part{{block: numAttrs}}
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
		case spec.form == formExprloc || spec.form == formBlock:
			p.block = attr
			parts = append(parts, part{block: numAttrs})
			continue
		case size < 0:
			return nil
		default:
			o.load = fixedLoader(size)
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
func (r *Reader) readParts(a *Abbrev, pos int, e *DIE) error {
	if a.lead {
		n := bytes.IndexByte(r.buf[pos:], 0)
		if n < 0 {
			return r.Errorf(e.Off, "a string has no end")
		}
		if ops := a.parts[0].ops; len(ops) > 0 && ops[0].load == loadLead {
			e.Val[ops[0].attr&31], e.Class[ops[0].attr&31] = uint64(pos), ClassInline
		}
		pos += n + 1
	}
	for i := range a.parts {
		p := &a.parts[i]
		end := pos + int(p.size)
		if end > len(r.buf) {
			return r.Errorf(e.Off, "the entry is cut off")
		}
		r.decode(p.ops, r.buf[pos:end], e)
		if pos = end; i+1 == len(a.parts) {
			break
		}
		at, n, ok := r.block(pos)
		if !ok {
			return r.Errorf(e.Off, "the entry is cut off")
		}
		if p.block != numAttrs {
			e.Val[p.block&31], e.Class[p.block&31] = uint64(at)|uint64(n)<<32, ClassBlock
		}
		pos = at + n
	}
	e.Next = uint32(pos)
	return nil
}

// afterParts moves over the parts that begin at pos. The result is beyond the buffer's end if they
// are cut off.
func (r *Reader) afterParts(a *Abbrev, pos int) int {
	last := len(a.parts) - 1
	for i := range last {
		at, n, ok := r.block(pos + int(a.parts[i].size))
		if !ok {
			return len(r.buf) + 1
		}
		pos = at + n
	}
	return pos + int(a.parts[last].size)
}

// block reads the size of the block at pos, and returns it and where its bytes begin.
func (r *Reader) block(pos int) (at, size int, ok bool) {
	if pos < len(r.buf) && r.buf[pos] < 0x80 {
		at, size = pos+1, int(r.buf[pos])
		return at, size, size <= len(r.buf)-at
	}
	c := cursor{buf: r.buf, pos: min(pos, len(r.buf))}
	n := c.uleb()
	return c.pos, int(n), !c.bad && n <= uint64(len(r.buf)-c.pos)
}

// decode loads attributes from the bytes of their part.
func (r *Reader) decode(ops []op, b []byte, e *DIE) {
	for i := range ops {
		o := &ops[i]
		var v uint64
		switch o.load {
		case load1:
			v = uint64(b[o.off])
		case load2:
			if r.little {
				v = uint64(binary.LittleEndian.Uint16(b[o.off:]))
			} else {
				v = uint64(binary.BigEndian.Uint16(b[o.off:]))
			}
		case load4:
			if r.little {
				v = uint64(binary.LittleEndian.Uint32(b[o.off:]))
			} else {
				v = uint64(binary.BigEndian.Uint32(b[o.off:]))
			}
		case load8:
			v = r.order.Uint64(b[o.off:])
		case load3:
			c := cursor{buf: b, pos: int(o.off)}
			v = c.uint(r.order, 3)
		case loadImm:
			v = uint64(o.imm)
		case loadLead:
			continue
		}
		e.Val[o.attr&31] = v
		e.Class[o.attr&31] = o.class
	}
}
