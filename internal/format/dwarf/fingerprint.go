package dwarf

import (
	std "debug/dwarf"
	"encoding/binary"
	"math/bits"
)

// Fingerprint identifies what an entry and its children say, as far as the wanted attributes go:
// entries with equal fingerprints mean the same, in whatever units of the file they stand, or of
// several files (Prints.File) with one byte order and one set of wanted features. The
// reverse does not hold; a fingerprint takes strings of merged sections by their offset, and
// attributes as they are spelled. It costs a fraction of understanding the entry, and most types of
// a kernel are repeats. The wanted attributes are those in constants.go; the others, such as lines,
// can't show in BTF.
//
// A reference counts as the fingerprint of the entry that it refers to; a named struct, union or
// enum counts as its kind and name alone, which also ends all cycles that C can make. References
// that leave the unit, those that end another cycle, and those that are nested deeper than
// maxPrintDepth, count as their target's place.
type Fingerprint struct{ A, B uint64 }

// Prints makes and remembers the fingerprints of one unit.
type Prints struct {
	r *Reader
	// Merged: equal strings of .debug_str have equal offsets, as the linker leaves them. If that is
	// wrong, equal types get several fingerprints, and nothing worse.
	Merged bool
	// File is the number of the file, where fingerprints of several files are compared, which must
	// not have Merged then. It is a part of all that means something in its file only.
	File uint64
	// Enclosed is set when a type definition is passed that is a child of another entry.
	// EnclosedRoot is set only if that is no anonymous struct or union, which is reached through
	// what holds it, but for its annotations. Who clears them before an entry's fingerprint is made
	// learns whether the walk must look into the entry.
	Enclosed, EnclosedRoot bool

	plainly bool // without the fast paths of fastprint.go

	unit  Fingerprint // of the unit's place
	types printTable
	names []nameSlot
	index []byte // the unit's part of .debug_str_offsets, for strx
}

type nameSlot struct {
	off uint64
	fp  Fingerprint
}

const (
	printSeedA = 0x9e3779b97f4a7c15
	printSeedB = 0xc2b2ae3d27d4eb4f
	printMulA  = 0xa0761d6478bd642f
	printMulB  = 0xe7037ed1a0b428db

	nameBits      = 12
	maxPrintDepth = 500
)

func (f *Fingerprint) mix(v uint64) { *f = f.with(v, v) }

func (f *Fingerprint) mix2(a, b uint64) { *f = f.with(a, b) }

// with returns f with a and b mixed in. Where f is a variable of the innermost loop it stays in
// registers so.
func (f Fingerprint) with(a, b uint64) Fingerprint {
	ahi, alo := bits.Mul64(f.A^a, printMulA)
	bhi, blo := bits.Mul64(f.B^b, printMulB)
	return Fingerprint{ahi ^ alo, bhi ^ blo ^ b}
}

// Share lets p, of another unit of the same file, use the memory that q has for strings.
func (p *Prints) Share(q *Prints) { p.Merged, p.names, p.File = q.Merged, q.names, q.File }

// Forget prepares for another file, which has a number.
func (p *Prints) Forget(file uint64) {
	p.File = file
	clear(p.names)
}

// Reset prepares for the unit that r has loaded.
func (p *Prints) Reset(r *Reader) {
	p.r = r
	p.unit = Fingerprint{printSeedB, printSeedA}
	section := uint64(r.Unit.Section.Index)
	if r.in != r.D {
		section |= 1 << 32
	}
	p.unit.mix2(r.Unit.Off, section)
	p.unit.mix(p.File)
	p.types.reset()
	p.index = nil
	if r.plans != nil && r.in == r.D && !r.Unit.Dwarf64 && !p.plainly {
		p.index = r.D.strOffsets[min(r.strBase, uint64(len(r.D.strOffsets))):]
	}
	if p.names == nil && !p.Merged {
		p.names = make([]nameSlot, 1<<nameBits)
	}
}

// place is a fingerprint that stands for the entry at off and no other, whatever it says. It is
// what the table holds for an entry whose fingerprint is being made: C++ has entries that lead back
// to themselves without a tag, such as an anonymous struct with methods.
func (p *Prints) place(off uint32) Fingerprint {
	return Fingerprint{p.unit.A ^ uint64(off), p.unit.B}
}

// Type returns the fingerprint of a reference to the type entry at off.
func (p *Prints) Type(off uint32, depth int) (Fingerprint, error) {
	s := p.types.at(off)
	if p.types.holds(s, off) {
		return s.fp, nil
	}
	return p.newType(s, off, off, depth)
}

// plainType is Type for any entry.
func (p *Prints) plainType(off uint32, depth int) (fp Fingerprint, err error) {
	p.types.set(off, p.place(off))
	e, err := p.r.Peek(off)
	if err != nil {
		return fp, err
	}
	if e.Abbrev != nil && e.Abbrev.named() {
		fp, err = p.tag(e)
	} else {
		fp, _, err = p.Entry(e, depth)
	}
	if err != nil {
		return fp, err
	}
	p.types.set(off, fp)
	return fp, nil
}

// tagPrint begins the fingerprint of a reference to a named struct, union or enum.
func tagPrint(t std.Tag) Fingerprint { return Fingerprint{printSeedB ^ uint64(t), printSeedA} }

// tag is the fingerprint of a reference to a named struct, union or enum.
func (p *Prints) tag(e Peeked) (Fingerprint, error) {
	fp := tagPrint(e.Abbrev.Tag)
	c := cursor{buf: p.r.buf, pos: int(e.Pos)}
	for i := range e.Abbrev.ops {
		o := &e.Abbrev.ops[i]
		v, class, err := p.r.load(&c, e, o)
		if err != nil {
			return fp, err
		}
		if off, ok := p.strx(v); ok && class == ClassStrx {
			v, class = off, ClassStrp
		}
		if o.attr == Name && class == ClassStrp && p.Merged {
			fp.mix(v) // as newType has it
			return fp, nil
		}
		if o.attr == Name {
			return fp, p.mixValue(&fp, e, Name, class, v, 0)
		}
	}
	return fp, nil
}

// Entry returns the fingerprint of the entry itself with its children, even where a reference to it
// would count as a tag, and the offset after them.
func (p *Prints) Entry(e Peeked, depth int) (fp Fingerprint, end uint32, err error) {
	if e.Abbrev == nil {
		return fp, 0, p.r.Errorf(e.Off, "a reference to a type leads to no entry")
	}
	fp = Fingerprint{printSeedA, printSeedB}
	if b := p.plain(e); b != nil {
		if fp, end, err = p.usual(fp, &e.Abbrev.plan, b, e.Pos-1, depth); err != nil ||
			end != 0 && !e.Abbrev.Children {
			return fp, end, err
		}
	}
	if end == 0 {
		if err := p.attributes(&fp, e, depth); err != nil || !e.Abbrev.Children {
			return fp, e.Next, err
		}
	}
	return p.children(fp, e.Next, depth)
}

// children mixes the list of entries that begins at off into fp, and tells the offset after it.
func (p *Prints) children(fp Fingerprint, off uint32, depth int) (_ Fingerprint, end uint32,
	err error) {
	for {
		var done bool
		if fp, off, done, err = p.leaves(fp, off, depth); err != nil || done {
			return fp, off, err
		}
		c, err := p.r.Peek(off)
		if err != nil {
			return fp, 0, err
		}
		if c.Abbrev == nil {
			fp.mix(printSeedB)
			return fp, c.Next, nil
		}
		if c.Abbrev.definition {
			p.Enclosed, p.EnclosedRoot = true, p.EnclosedRoot || !c.Abbrev.held() ||
				p.r.Annotated()
		}
		if !c.Abbrev.Children {
			if err := p.attributes(&fp, c, depth); err != nil {
				return fp, 0, err
			}
			off = c.Next
			continue
		}
		sub, end := p.place(c.Off), uint32(0)
		if depth <= maxPrintDepth {
			sub, end, err = p.Entry(c, depth+1) // such as an annotation of a member
		} else {
			p.Enclosed, p.EnclosedRoot = true, true // for all that is known
			end, err = p.r.After(c)
		}
		if err != nil {
			return fp, 0, err
		}
		fp.mix2(sub.A, sub.B)
		off = end
	}
}

// attributes mixes the wanted attributes of e into fp.
func (p *Prints) attributes(fp *Fingerprint, e Peeked, depth int) error {
	a, r := e.Abbrev, p.r
	if a.fixed >= 0 && !p.plainly {
		return p.fixed(fp, e, depth)
	}
	fp.mix(uint64(a.Tag))
	c := cursor{buf: r.buf, pos: int(e.Pos)}
	for i := range a.ops {
		o := &a.ops[i]
		v, class, err := r.load(&c, e, o)
		if err != nil {
			return err
		}
		if o.attr == numAttrs || o.attr == Sibling {
			continue
		}
		if o.form == formSdata { // the sign of an enum may depend on it
			fp.mix(formSdata)
		}
		if err := p.mixValue(fp, e, o.attr, class, v, depth); err != nil {
			return err
		}
	}
	return nil
}

// mixValue mixes one attribute of any class.
func (p *Prints) mixValue(fp *Fingerprint, e Peeked, attr Attr, class Class, v uint64,
	depth int) error {
	fp.mix(uint64(attr)<<56 | uint64(class)<<48)
	switch class {
	case ClassRef:
		if v >= p.r.Unit.Len {
			return p.r.Errorf(e.Off, "a reference to %#x leaves the unit", v)
		}
		t, err := p.Type(uint32(v), depth+1)
		if err != nil {
			return err
		}
		fp.mix2(t.A, t.B)
	case ClassConst:
		fp.mix(v)
	case ClassRefAddr: // from the start of the section
		fp.mix2(v, uint64(p.r.Unit.Section.Index))
		fp.mix(p.File)
	case ClassBlock:
		s := printBytes(p.r.Block(v))
		fp.mix2(s.A, s.B)
	case ClassStrp, ClassInline, ClassLineStr, ClassStrx:
		if class == ClassStrp && p.Merged {
			fp.mix(v)
			return nil
		}
		n, err := p.text(e.Off, class, v)
		if err != nil {
			return err
		}
		fp.mix2(n.A, n.B)
	default: // signatures, addresses, offsets in sections
		fp.mix2(v, p.File)
	}
	return nil
}

// text is the fingerprint of a string, by content.
func (p *Prints) text(die uint32, class Class, v uint64) (Fingerprint, error) {
	switch class {
	case ClassStrp:
		return p.strp(die, v)
	case ClassInline: // of up to 7 bytes, the bytes themselves
		if b := p.r.buf[v:]; len(b) >= 8 {
			if s, n := short(binary.LittleEndian.Uint64(b)); n != 0 {
				return Fingerprint{A: s}, nil
			}
		}
	}
	s, err := p.r.StringAt(die, class, v)
	return printBytes(s), err
}

// printBytes is the fingerprint of a string or block.
func printBytes(s []byte) Fingerprint {
	fp := Fingerprint{printSeedA, printSeedB}
	for len(s) >= 8 {
		v := binary.LittleEndian.Uint64(s)
		fp = fp.with(v, v)
		s = s[8:]
	}
	v := uint64(len(s)) << 56
	for i, c := range s {
		v |= uint64(c) << (8 * uint(i))
	}
	return fp.with(v, v)
}
