package dwarf

import "math/bits"

// The functions here make the fingerprint of any entry from the result of Read: the tag, and the
// class and value of each attribute. They are used for entries without a plan. Tests compare the
// fast path (fastprint.go) with them.

func (p *Prints) plainAttributes(fp *Fingerprint, off uint32, depth int) error {
	var e DIE
	if err := p.r.Read(off, &e); err != nil {
		return err
	}
	fp.mix(uint64(e.Tag))
	for rest := e.mask &^ (1 << Sibling); rest != 0; rest &= rest - 1 {
		s := Attr(bits.TrailingZeros64(rest))
		class := e.Class[s]
		if p.follows(s, class) {
			class = ClassRef
		}
		fp.mix(uint64(s)<<8 | uint64(class))
		if err := p.mixValue(fp, &e, s, depth); err != nil {
			return err
		}
	}
	return nil
}

func (p *Prints) mixValue(fp *Fingerprint, e *DIE, s Attr, depth int) error {
	v := e.Value(s)
	switch v.Class {
	case ClassRef:
		if v.Val >= p.r.Unit.Len {
			return p.r.Damaged(e.Off, "a reference to offset %#x is outside of the unit", v.Val)
		}
		t, err := p.reference(e.Off, uint32(v.Val), depth+1)
		fp.mix2(t.A, t.B)
		return err
	case ClassConst:
		fp.mix(v.Val)
		if int64(v.Val) < 0 { // whether an enum is signed may depend on the form
			if signed, err := p.r.Signed(e, s); signed || err != nil {
				fp.mix(formSdata)
				return err
			}
		}
	case ClassRefAddr: // an offset from the start of the section
		if p.follows(s, v.Class) {
			t, err := p.elsewhere(e.Off, v.Val, depth+1)
			fp.mix2(t.A, t.B)
			return err
		}
		fp.mix2(v.Val, uint64(p.r.Unit.Section.Index))
		fp.mix(p.File)
	case ClassBlock:
		b := printBytes(p.r.Block(v.Val))
		fp.mix2(b.A, b.B)
	case ClassStrp, ClassInline, ClassLineStr, ClassStrx:
		return p.mixString(fp, e.Off, v)
	default: // signatures, addresses, section offsets
		fp.mix2(v.Val, p.File)
	}
	return nil
}

// follows reports whether an attribute of the given class is a reference to another unit that is
// followed there.
func (p *Prints) follows(s Attr, class Class) bool {
	return s == Type && class == ClassRefAddr && p.Other != nil
}

// elsewhere returns the fingerprint of the type entry at an offset of the unit's section, which may
// be in another unit. The entry at offset die refers to it.
func (p *Prints) elsewhere(die uint32, off uint64, depth int) (Fingerprint, error) {
	q, at, err := p.Other(die, off)
	if err != nil {
		return Fingerprint{}, err
	}
	return q.reference(at, at, depth)
}
