package dwarf

import "bytes"

// Peeked is an entry of which only the shape has been read.
type Peeked struct {
	Off    uint32
	Pos    uint32  // of the first attribute
	Next   uint32  // of what follows the attributes
	Abbrev *Abbrev // nil at the end of a list of siblings
	body   uint32  // of what follows the leading string
}

// Has tells whether the entry has the attribute.
func (e Peeked) Has(s Attr) bool { return e.Abbrev.mask>>s&1 != 0 }

// Const returns a constant attribute; 0 when the entry doesn't have it or has it in another form.
func (r *Reader) Const(e Peeked, s Attr) uint64 { return r.find(e, s, ClassConst) }

// find returns an attribute of a class; 0 when the entry doesn't have it so.
func (r *Reader) find(e Peeked, s Attr, want Class) uint64 {
	if !e.Has(s) {
		return 0
	}
	c := cursor{buf: r.buf, pos: int(e.Pos)}
	for i := range e.Abbrev.ops {
		o := &e.Abbrev.ops[i]
		if e.Abbrev.fixed >= 0 && o.attr != s {
			continue
		}
		v, class, err := r.load(&c, e, o)
		if err != nil {
			return 0
		}
		if o.attr == s && class == want {
			return v
		}
	}
	return 0
}

// Signed tells whether a constant attribute of e is in a form for signed numbers.
func (r *Reader) Signed(e *DIE, s Attr) (bool, error) {
	p, err := r.Peek(e.Off)
	if err != nil || p.Abbrev == nil {
		return false, err
	}
	for i := range p.Abbrev.ops {
		if o := &p.Abbrev.ops[i]; o.attr == s {
			return o.load == loadImm || o.form == formSdata || o.form == formImplicit, nil
		}
	}
	return false, nil
}

// Peek reads the shape of the entry at off.
func (r *Reader) Peek(off uint32) (e Peeked, err error) {
	e.Off = off
	if r.work--; r.work < 0 {
		if err := r.spend(off); err != nil {
			return e, err
		}
	}
	pos := int(off)
	if pos >= len(r.buf) {
		e.Next = off
		return e, nil
	}
	code := uint64(r.buf[pos])
	pos++
	if code >= 0x80 {
		c := cursor{buf: r.buf, pos: pos - 1}
		code = c.uleb()
		if c.bad {
			return e, r.Errorf(off, "the abbreviation code is cut off")
		}
		pos = c.pos
	}
	e.Pos = uint32(pos)
	if code == 0 {
		e.Next = uint32(pos)
		return e, nil
	}
	a := r.abbrevs.lookup(code)
	if a == nil {
		return e, r.Errorf(off, "abbreviation %d is not declared", code)
	}
	e.Abbrev = a
	if a.parts == nil {
		c := cursor{buf: r.buf, pos: pos}
		for i := range a.ops {
			if _, _, err := r.load(&c, e, &a.ops[i]); err != nil {
				return e, err
			}
		}
		e.Next = uint32(c.pos)
		return e, nil
	}
	if a.lead {
		n := bytes.IndexByte(r.buf[pos:], 0)
		if n < 0 {
			return e, r.Errorf(off, "a string has no end")
		}
		pos += n + 1
	}
	e.body = uint32(pos)
	if a.fixed >= 0 {
		pos += int(a.fixed)
	} else {
		pos = r.afterParts(a, pos)
	}
	if pos > len(r.buf) {
		return e, r.Errorf(off, "the entry is cut off")
	}
	e.Next = uint32(pos)
	return e, nil
}

// load reads one attribute of an entry that is walked form by form, or of a fixed one, whose ops
// need no order.
func (r *Reader) load(c *cursor, e Peeked, o *op) (uint64, Class, error) {
	if e.Abbrev.fixed >= 0 {
		switch o.load {
		case loadImm:
			return uint64(o.imm), o.class, nil
		case loadLead:
			return uint64(e.Pos), ClassInline, nil
		}
		f := cursor{buf: r.buf, pos: int(e.body + o.off)}
		return f.uint(r.order, int(o.load.size())), o.class, nil
	}
	form := uint64(o.form)
	if form == formIndirect {
		form = c.uleb()
		if form == formIndirect || form == formImplicit {
			return 0, 0, r.Errorf(e.Off, "form %#x can't be indirect", form)
		}
	}
	v, class, ok := r.value(c, form, o)
	if !ok {
		return 0, 0, r.Errorf(e.Off, "unknown form %#x; this producer's DWARF is not supported", form)
	}
	if c.bad {
		return 0, 0, r.Errorf(e.Off, "the entry is cut off")
	}
	return v, class, nil
}

// After returns the offset after e and its children: by DW_AT_sibling, or by walking over them.
func (r *Reader) After(e Peeked) (uint32, error) {
	if !e.Abbrev.Children {
		return e.Next, nil
	}
	if next := r.sibling(e); next != 0 {
		return next, nil
	}
	return r.afterList(e.Next)
}

// sibling is where DW_AT_sibling leads to; 0 if there is none that leads ahead.
func (r *Reader) sibling(e Peeked) uint32 {
	var v uint64
	if at := e.Abbrev.plan.sibling; at != 0 {
		// it lies in the entry, which has been read
		v = uint64(r.order.Uint32(r.buf[e.body+uint32(at)-1:]))
	} else {
		v = r.find(e, Sibling, ClassRef)
	}
	if v <= uint64(e.Off) || v > uint64(len(r.buf)) {
		return 0
	}
	return uint32(v)
}

// afterList returns the offset after the list of siblings that goes on at off.
func (r *Reader) afterList(off uint32) (uint32, error) {
	for depth := 1; depth > 0; {
		off, _ = r.skip(off, planSized, 0, 0)
		if int(off) < len(r.buf) && r.buf[off] == 0 { // as is usual
			r.work--
			off++
			depth--
			continue
		}
		e, err := r.Peek(off)
		if err != nil {
			return 0, err
		}
		off = e.Next
		switch {
		case e.Abbrev == nil:
			depth--
		case e.Abbrev.Children:
			if next := r.sibling(e); next != 0 {
				off = next
			} else {
				depth++
			}
		}
	}
	return off, nil
}
