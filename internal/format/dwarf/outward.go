package dwarf

import std "debug/dwarf"

// Outward calls visit for the entries of the unit that may refer to entries of other units: with the
// type, abstract origin, specification, signature or annotation of an entry. The origins of inlined
// calls don't count.
func (r *Reader) Outward(visit func(e *DIE) error) error {
	var e DIE
	off, depth := r.Unit.HeaderLen, 0
	for {
		if b, p := r.planned(off); p.walk&planSized != 0 && !p.outward {
			if next := r.overAttributes(b, p, off); next != 0 {
				r.work--
				off = next
				if p.walk&planChildren != 0 {
					depth++
				}
				if depth > 0 {
					continue
				}
				return nil
			}
		}
		h, err := r.Peek(off)
		if err == nil && h.Abbrev != nil && h.Abbrev.outward {
			if err = r.Read(off, &e); err == nil {
				err = visit(&e)
			}
		}
		if err != nil {
			return err
		}
		off = h.Next
		switch {
		case h.Abbrev == nil:
			depth--
		case h.Abbrev.Children:
			depth++
		}
		if depth <= 0 || int(off) >= len(r.buf) {
			return nil
		}
	}
}

// overAttributes returns the offset after the attributes of the entry at offset off, which is at the
// start of b and has the plan p. It returns 0 if the sizes can't be read.
func (r *Reader) overAttributes(b *window, p *plan, off uint32) uint32 {
	if p.walk&planLead != 0 {
		_, lead := inline8(b)
		if lead == 0 {
			return 0
		}
		off += lead
	}
	if off += uint32(p.size); p.varying != 0 {
		return r.overVarying(p, off)
	}
	return off
}

// isOutward reports whether Outward visits the declaration's entries.
func (a *Abbrev) isOutward() bool {
	leads := func(to *attribute) bool {
		switch to.attr {
		case Type, Signature, Specification, Annotation:
		case Origin:
			if a.Tag == std.TagInlinedSubroutine {
				return false
			}
		default:
			return false
		}
		return to.class == ClassRefAddr || to.class == ClassRefSup || to.class == ClassSig ||
			to.form == formIndirect
	}
	for i := range a.runs {
		run := &a.runs[i]
		for j := range run.wanted {
			if leads(&run.wanted[j]) {
				return true
			}
		}
		if i+1 < len(a.runs) && leads(&run.last) {
			return true
		}
	}
	return false
}
