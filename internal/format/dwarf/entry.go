package dwarf

// Read decodes the DIE at offset off. At the end of the unit it returns a null entry.
func (r *Reader) Read(off uint32, e *DIE) error {
	a, pos, err := r.entry(off)
	if a == nil {
		e.Off, e.mask = off, 0
		e.Null, e.Next, e.Tag, e.Children = true, uint32(pos), 0, false
		return err
	}
	return r.decode(off, a, pos, e)
}

// decode decodes the DIE at offset off, whose declaration is a. Its attributes begin at pos.
func (r *Reader) decode(off uint32, a *Abbrev, pos int, e *DIE) error {
	e.Off, e.Null, e.Tag, e.Children, e.mask = off, false, a.Tag, a.Children, a.mask
	for i := range a.runs {
		run := &a.runs[i]
		end := pos + int(run.size)
		switch {
		case r.little && run.size <= shortRun && pos <= len(r.buf)-planReach: // usually true
			run.readShort(e, (*window)(r.buf[pos:]))
		case end <= len(r.buf):
			r.readRun(e, run, r.buf[pos:end])
		default:
			return r.Damaged(off, "the entry is cut off")
		}
		if pos = end; i+1 == len(a.runs) {
			break
		}
		v, next, err := r.readVarying(off, &run.last, pos)
		if err != nil {
			return err
		}
		if s := run.last.attr; s != numAttrs {
			e.Val[s&31], e.Class[s&31] = v.Val, v.Class
			e.mask |= 1 << s
			if v.Class == ClassNone { // DW_FORM_indirect, and then a form that isn't read
				e.mask &^= 1 << s
			}
		}
		pos = next
	}
	e.Next = uint32(pos)
	return nil
}

// entry returns the declaration of the entry at offset off, and the offset after the entry's code.
// At the end of a list of siblings, the declaration is nil.
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
			return nil, 0, r.Damaged(off, "the abbreviation code is cut off")
		}
	}
	if code == 0 {
		return nil, pos, nil
	}
	if a = r.abbrevs.lookup(code); a == nil {
		return nil, 0, r.Damaged(off, "abbreviation %d is not declared", code)
	}
	return a, pos, nil
}

// Block returns the bytes of an attribute of ClassBlock whose value is v.
func (r *Reader) Block(v uint64) []byte {
	off, n := uint32(v), uint32(v>>32)
	return r.buf[off : off+n]
}

// Head has the place and the declaration of an entry whose attributes have not been read.
type Head struct {
	Off    uint32
	Next   uint32  // the offset after the attributes
	Abbrev *Abbrev // nil at the end of a list of siblings
	pos    uint32  // offset of the first attribute
	r      *Reader
}

// Has reports whether the entry has the attribute.
func (e Head) Has(s Attr) bool { return e.Abbrev.has(s) }

// Peek returns the Head of the entry at offset off.
//
// Peek is for the loops of the conversion, like After. Other callers use Read or Children.
func (r *Reader) Peek(off uint32) (Head, error) {
	a, pos, err := r.entry(off)
	if a == nil {
		return Head{Off: off, Next: uint32(pos)}, err
	}
	return r.head(off, a, pos)
}

// head returns the Head of the entry at offset off, whose declaration is a. Its attributes begin at
// pos.
func (r *Reader) head(off uint32, a *Abbrev, pos int) (_ Head, err error) {
	e := Head{Off: off, Next: uint32(pos), Abbrev: a, pos: uint32(pos), r: r}
	for i := range a.runs {
		if pos += int(a.runs[i].size); pos > len(r.buf) {
			return e, r.Damaged(off, "the entry is cut off")
		}
		if i+1 < len(a.runs) {
			if _, pos, err = r.readVarying(off, &a.runs[i].last, pos); err != nil {
				return e, err
			}
		}
	}
	e.Next = uint32(pos)
	return e, nil
}

// Value reads an attribute. It returns the zero Value if the entry lacks the attribute.
func (e Head) Value(s Attr) Value {
	r, pos := e.r, int(e.pos)
	for i := range e.Abbrev.runs {
		run := &e.Abbrev.runs[i]
		for i := range run.wanted {
			if a := &run.wanted[i]; a.attr == s {
				return Value{r.readFixed(a, r.buf[pos:]), a.class}
			}
		}
		if pos += int(run.size); i+1 == len(e.Abbrev.runs) {
			break
		}
		v, next, err := r.readVarying(e.Off, &run.last, pos)
		if run.last.attr == s || err != nil {
			return v
		}
		pos = next
	}
	return Value{}
}

// Signed reports whether a constant attribute of e has a form for signed numbers.
func (r *Reader) Signed(e *DIE, s Attr) (bool, error) {
	h, err := r.Peek(e.Off)
	if err != nil || h.Abbrev == nil {
		return false, err
	}
	a := h.Abbrev.find(s)
	if a == nil || a.form != formIndirect {
		return a != nil && (a.form == formSdata || a.size == 0), nil
	}
	pos := int(h.pos)
	for i := range h.Abbrev.runs {
		run := &h.Abbrev.runs[i]
		pos += int(run.size)
		if run.last.attr == s {
			break
		}
		if _, pos, err = r.readVarying(h.Off, &run.last, pos); err != nil {
			return false, err
		}
	}
	c := cursor{buf: r.buf, pos: pos}
	return c.uleb() == formSdata, nil
}

// After returns the offset after e and its children, from DW_AT_sibling or a walk over the list.
func (r *Reader) After(e Head) (uint32, error) {
	if !e.Abbrev.Children {
		return e.Next, nil
	}
	if next := r.ahead(e.Off, e.Value(Sibling)); next != 0 {
		return next, nil
	}
	return r.afterList(e.Next)
}

// afterDIE is like After, but for an entry that has been decoded.
func (r *Reader) afterDIE(e *DIE) (uint32, error) {
	if !e.Children {
		return e.Next, nil
	}
	if next := r.ahead(e.Off, e.Value(Sibling)); next != 0 {
		return next, nil
	}
	return r.afterList(e.Next)
}

// ahead returns the target of a reference in the entry at offset off, or 0 if the target does not
// follow that entry in the same unit.
func (r *Reader) ahead(off uint32, ref Value) uint32 {
	if ref.Class != ClassRef || ref.Val <= uint64(off) || ref.Val > uint64(len(r.buf)) {
		return 0
	}
	return uint32(ref.Val)
}

// afterList returns the offset after the list of siblings that continues at offset off.
func (r *Reader) afterList(off uint32) (uint32, error) {
	for depth := 1; depth > 0; {
		next, deeper := r.Skip(off, skipAll)
		off, depth = next, depth+deeper
		if int(off) < len(r.buf) && r.buf[off] == 0 { // usually true
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
			if next := r.ahead(e.Off, e.Value(Sibling)); next != 0 {
				off = next
			} else {
				depth++
			}
		}
	}
	return off, nil
}
