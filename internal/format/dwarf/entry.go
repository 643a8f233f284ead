package dwarf

// What is here reads any entry: form by form, or by the fixed distances of its parts (parts.go).

// Read decodes the DIE at off. At the end of the unit it gives a null entry.
func (r *Reader) Read(off uint32, e *DIE) error {
	a, pos, err := r.entry(off)
	e.Off, e.mask = off, 0
	if a == nil {
		e.Null, e.Next, e.Tag, e.Children = true, uint32(pos), 0, false
		return err
	}
	e.Null, e.Tag, e.Children, e.mask = false, a.Tag, a.Children, a.mask
	if a.parts == nil {
		return r.walk(a, pos, e)
	}
	return r.readParts(a, pos, e)
}

// entry returns the declaration of the entry at off, nil at the end of a list of siblings, and the
// offset after the entry's code.
func (r *Reader) entry(off uint32) (a *Abbrev, pos int, err error) {
	if r.work--; r.work < 0 {
		if err := r.spend(off); err != nil {
			return nil, 0, err
		}
	}
	pos = int(off)
	if pos >= len(r.buf) {
		return nil, pos, nil
	}
	code := uint64(r.buf[pos])
	pos++
	if code >= 0x80 {
		c := cursor{buf: r.buf, pos: pos - 1}
		code, pos = c.uleb(), c.pos
		if c.bad {
			return nil, 0, r.Errorf(off, "the abbreviation code is cut off")
		}
	}
	if code == 0 {
		return nil, pos, nil
	}
	if a = r.abbrevs.lookup(code); a == nil {
		return nil, 0, r.Errorf(off, "abbreviation %d is not declared", code)
	}
	return a, pos, nil
}

// walk decodes an entry form by form.
func (r *Reader) walk(a *Abbrev, pos int, e *DIE) error {
	c := cursor{buf: r.buf, pos: pos}
	for i := range a.ops {
		o := &a.ops[i]
		v, class, err := r.next(&c, e.Off, o)
		if err != nil {
			return err
		}
		if o.attr < numAttrs && class != ClassNone {
			e.Val[o.attr], e.Class[o.attr] = v, class
			e.mask |= 1 << o.attr
		}
	}
	e.Next = uint32(c.pos)
	return nil
}

// next reads an attribute of the entry at die, which is read form by form.
func (r *Reader) next(c *cursor, die uint32, o *op) (uint64, Class, error) {
	form := uint64(o.form)
	if form == formIndirect {
		form = c.uleb()
		if form == formIndirect || form == formImplicit {
			return 0, 0, r.Errorf(die, "form %#x can't be indirect", form)
		}
	}
	v, class, ok := r.value(c, form, o)
	if !ok {
		return 0, 0, r.Errorf(die, "unknown form %#x; this producer's DWARF is not supported", form)
	}
	if c.bad {
		return 0, 0, r.Errorf(die, "the entry is cut off")
	}
	return v, r.f.classOf(o.attr, form, class), nil
}

// value reads the value of one form.
func (r *Reader) value(c *cursor, form uint64, o *op) (v uint64, class Class, ok bool) {
	size, class := r.f.fixedForm(form)
	switch {
	case form == formImplicit:
		return uint64(o.imm), class, true
	case form == formFlagPresent:
		return 1, class, true
	case form == formSdata:
		return uint64(c.sleb()), class, true
	case size == 16:
		c.skip(16)
		return 0, class, true
	case size >= 0:
		return c.uint(r.D.Order, size), class, true
	case class == ClassInline:
		v = uint64(c.pos)
		c.cstring()
		return v, class, true
	case class != ClassBlock:
		v = c.uleb()
		return v, class, class != ClassNone
	}
	switch form {
	case formBlock1:
		v = c.uint(r.D.Order, 1)
	case formBlock2:
		v = c.uint(r.D.Order, 2)
	case formBlock4:
		v = c.uint(r.D.Order, 4)
	default:
		v = c.uleb()
	}
	at := uint64(c.pos)
	c.skip(v)
	return at | v<<32, class, true
}

// Block returns the bytes of an attribute of ClassBlock.
func (r *Reader) Block(v uint64) []byte {
	off, n := uint32(v), uint32(v>>32)
	return r.buf[off : off+n]
}

// Peeked is an entry of which only the shape has been read.
type Peeked struct {
	Off    uint32
	Pos    uint32  // of the first attribute
	Next   uint32  // of what follows the attributes
	Abbrev *Abbrev // nil at the end of a list of siblings
	body   uint32  // of what follows the leading string
}

// Has reports whether the entry has the attribute.
func (e Peeked) Has(s Attr) bool { return e.Abbrev.has(s) }

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

// Signed reports whether a constant attribute of e is in a form for signed numbers.
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
func (r *Reader) Peek(off uint32) (Peeked, error) {
	a, pos, err := r.entry(off)
	e := Peeked{Off: off, Pos: uint32(pos), Next: uint32(pos), Abbrev: a}
	if a == nil {
		return e, err
	}
	if a.parts == nil {
		c := cursor{buf: r.buf, pos: pos}
		for i := range a.ops {
			if _, _, err := r.next(&c, off, &a.ops[i]); err != nil {
				return e, err
			}
		}
		e.Next = uint32(c.pos)
		return e, nil
	}
	if a.lead {
		if pos, err = r.afterLead(off, pos); err != nil {
			return e, err
		}
	}
	e.body = uint32(pos)
	if pos = r.afterParts(a, pos); pos > len(r.buf) {
		return e, r.Errorf(off, "the entry is cut off")
	}
	e.Next = uint32(pos)
	return e, nil
}

// load reads one attribute of an entry that is walked form by form, or of a fixed one, whose ops
// need no order.
func (r *Reader) load(c *cursor, e Peeked, o *op) (uint64, Class, error) {
	if e.Abbrev.fixed >= 0 {
		return r.number(o, r.buf[e.body:e.Next], int(e.Pos)), o.class, nil
	}
	return r.next(c, e.Off, o)
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

// AfterChildren is After for an entry that has been read.
func (r *Reader) AfterChildren(e *DIE) (uint32, error) {
	if !e.Children {
		return e.Next, nil
	}
	if next := r.ahead(e.Off, e.Value(Sibling)); next != 0 {
		return next, nil
	}
	return r.afterList(e.Next)
}

// sibling is where DW_AT_sibling leads to; 0 if there is none that leads ahead.
func (r *Reader) sibling(e Peeked) uint32 {
	v := Value{Class: ClassRef}
	if at := e.Abbrev.plan.sibling; at != 0 {
		v.Val = uint64(r.u32(r.buf[e.body+uint32(at)-1:])) // it lies in the entry, which has been read
	} else {
		v.Val = r.find(e, Sibling, ClassRef)
	}
	return r.ahead(e.Off, v)
}

// ahead is where a reference of the entry at off leads to; 0 if that is not ahead in the unit.
func (r *Reader) ahead(off uint32, ref Value) uint32 {
	if ref.Class != ClassRef || ref.Val <= uint64(off) || ref.Val > uint64(len(r.buf)) {
		return 0
	}
	return uint32(ref.Val)
}

// afterList returns the offset after the list of siblings that goes on at off.
func (r *Reader) afterList(off uint32) (uint32, error) {
	for depth := 1; depth > 0; {
		next, deeper := r.skip(off, planSized, 0, 0)
		off, depth = next, depth+deeper
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
