package dwarf

import (
	std "debug/dwarf"
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
	// Merged: equal strings of .debug_str have equal offsets, as the linker leaves them. If they
	// don't, equal types get several fingerprints, which is slower but correct.
	Merged bool
	// File is the number of the file if fingerprints of several files are compared; then Merged must
	// not be set. It is part of everything that has a meaning in its file only.
	File uint64
	// EnclosedRoot is set when a type definition is skipped that is a child of another entry. (An
	// anonymous struct or union counts only for its annotations, as the entry around it refers to
	// it.) A caller who clears it before making an entry's fingerprint learns whether the walk must
	// visit the entry's children.
	EnclosedRoot bool

	plainly bool // without the fast path, for tests

	unit  Fingerprint // of the unit's place
	types printTable
	names []nameSlot
	index []byte // the unit's part of .debug_str_offsets, for strx
}

type nameSlot struct {
	off uint64
	fp  Fingerprint
}

// printStart is the fingerprint of nothing.
var printStart = Fingerprint{printSeedA, printSeedB}

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

// with returns f with a and b mixed in. In the innermost loop this keeps f in registers.
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
	if r.in == r.D && !r.Unit.Dwarf64 && !p.plainly {
		p.index = r.D.strOffsets[min(r.strBase, uint64(len(r.D.strOffsets))):]
	}
	if p.names == nil && !p.Merged {
		p.names = make([]nameSlot, 1<<nameBits)
	}
}

// place is a fingerprint of the entry at off and no other, whatever its content. The table has it
// for an entry while its fingerprint is being made: C++ has entries that lead back to themselves
// without a tag, such as an anonymous struct with methods.
func (p *Prints) place(off uint32) Fingerprint {
	return Fingerprint{p.unit.A ^ uint64(off), p.unit.B}
}

// Type returns the fingerprint of a reference to the type entry at off.
func (p *Prints) Type(off uint32, depth int) (Fingerprint, error) {
	return p.reference(off, off, depth)
}

// reference is Type for a reference of the entry at die.
func (p *Prints) reference(die, off uint32, depth int) (Fingerprint, error) {
	s, known := p.types.slot(off)
	if known {
		return s.fp, nil
	}
	return p.newType(s, die, off, depth)
}

// newType is reference for a type that is not known yet, which belongs in the slot s.
func (p *Prints) newType(s *printSlot, die, off uint32, depth int) (fp Fingerprint, err error) {
	switch {
	case int(off) >= len(p.r.buf):
		return fp, p.r.Errorf(die, "a reference to %#x leaves the unit", off)
	case off < p.r.Unit.HeaderLen:
		return fp, p.r.Errorf(off, "a reference to a type leads into the unit's header")
	case depth > maxPrintDepth:
		return p.place(off), nil
	}
	b, pl := p.planned(off)
	if pl.prints&printTagName != 0 && p.Merged {
		name, ok := uint64(u32(b, pl.nameAt)&pl.nameMask), true
		if !p.r.little || pl.indexed() {
			name, ok = p.name(pl, name)
		}
		if ok {
			p.r.work--
			fp = tagPrint(std.Tag(pl.tag)).with(name, name)
			p.types.put(s, off, fp)
			return fp, nil
		}
	}
	size := len(p.types.slots)
	p.types.put(s, off, p.place(off))
	end := uint32(0)
	if pl.prints&(printWhole|printTag) == printWhole {
		p.r.work--
		fp, end, err = p.attributes(printStart, pl, b, off, depth)
		if end != 0 && pl.walk&planChildren != 0 && err == nil {
			fp, end, err = p.children(fp, end, depth)
		}
	}
	if end == 0 && err == nil {
		fp, err = p.anyType(off, depth)
	}
	if len(p.types.slots) != size { // the table has grown
		s, _ = p.types.slot(off)
	}
	s.fp = fp
	return fp, err
}

// anyType is the fingerprint of a reference to the entry at off.
func (p *Prints) anyType(off uint32, depth int) (fp Fingerprint, err error) {
	e, err := p.r.Peek(off)
	if err == nil && e.Abbrev == nil {
		err = p.r.Errorf(off, "a reference to a type leads to no entry")
	}
	if err != nil {
		return fp, err
	}
	if e.Abbrev.named() {
		fp = tagPrint(e.Abbrev.Tag)
		return fp, p.mixString(&fp, off, p.r.Value(e, Name))
	}
	fp, _, err = p.Entry(e, depth)
	return fp, err
}

// tagPrint begins the fingerprint of a reference to a named struct, union or enum.
func tagPrint(t std.Tag) Fingerprint { return Fingerprint{printSeedB ^ uint64(t), printSeedA} }

// Entry returns the fingerprint of the entry itself with its children, even where a reference to it
// would count as a tag, and the offset after them.
func (p *Prints) Entry(e Head, depth int) (fp Fingerprint, end uint32, err error) {
	fp, err = p.mixEntry(printStart, e, depth)
	if err != nil || !e.Abbrev.Children {
		return fp, e.Next, err
	}
	return p.children(fp, e.Next, depth)
}

// mixEntry mixes the attributes of an entry into fp.
func (p *Prints) mixEntry(fp Fingerprint, e Head, depth int) (Fingerprint, error) {
	pl, at := &e.Abbrev.plan, e.Pos-1
	if pl.prints&printWhole != 0 && int(at)+planReach <= len(p.r.buf) && !p.plainly {
		sum, end, err := p.attributes(fp, pl, (*window)(p.r.buf[at:]), at, depth)
		if err != nil || end != 0 {
			return sum, err
		}
	}
	err := p.plainAttributes(&fp, e.Off, depth)
	return fp, err
}

// children mixes the list of entries that begins at off into fp. It returns the offset after it.
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
			p.EnclosedRoot = p.EnclosedRoot || !c.Abbrev.anonymous() || p.r.Annotated()
		}
		if !c.Abbrev.Children {
			if fp, err = p.mixEntry(fp, c, depth); err != nil {
				return fp, 0, err
			}
			off = c.Next
			continue
		}
		sub := p.place(c.Off)
		if depth <= maxPrintDepth {
			sub, off, err = p.Entry(c, depth+1)
		} else {
			p.EnclosedRoot = true // for all that is known
			off, err = p.r.After(c)
		}
		if err != nil {
			return fp, 0, err
		}
		fp.mix2(sub.A, sub.B)
	}
}
