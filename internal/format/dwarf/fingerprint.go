package dwarf

import (
	std "debug/dwarf"
	"math/bits"
)

// Fingerprint identifies the content of an entry and its children: their tags and wanted
// attributes. The wanted attributes are those in constants.go; others, such as lines, have no
// effect on BTF. Most types in a kernel's DWARF are repeats, and making a fingerprint costs far
// less than decoding.
//
// Entries with equal fingerprints describe the same type, in all units of the file. That holds even
// across files (Prints.File), if the files have the same byte order and set of wanted features. But
// entries that describe the same type may have different fingerprints, because a fingerprint
// depends on how attributes are encoded and, in merged sections, on the offsets of strings.
//
// A reference contributes the fingerprint of the entry that it refers to. If that entry is a named
// struct, union or enum, the reference contributes only the kind and the name; this also breaks all
// cycles that are possible in C. A reference that closes any other cycle, or is nested deeper than
// maxPrintDepth, contributes the place of its target. So does a reference to another unit, except
// that a DW_AT_type is followed there (Prints.Other).
type Fingerprint struct{ A, B uint64 }

// Prints makes and remembers the fingerprints of one unit.
type Prints struct {
	r *Reader
	// Merged says that equal strings in .debug_str have equal offsets, as after a link. If that is not
	// true, equal types get several fingerprints, which is slower but correct.
	Merged bool
	// File is the number of the file. It is mixed into everything that has a meaning only in the file,
	// so that fingerprints of several files can be compared. For that, Merged must not be set.
	File uint64
	// Other, if set, returns the unit with the entry at an offset of the unit's section, and the
	// offset of the entry in that unit. The entry at offset die refers to it.
	Other func(die uint32, off uint64) (*Prints, uint32, error)
	// EnclosedRoot is set when a fingerprint includes a type definition nested in another entry. (An
	// anonymous struct or union is reached through the entry around it, and sets EnclosedRoot only if
	// the unit may have annotations.) A caller clears EnclosedRoot before it makes an entry's
	// fingerprint. If EnclosedRoot is set afterwards, the walk must visit the entry's children.
	EnclosedRoot bool

	unit   Fingerprint // fingerprint of the unit's place
	types  printTable
	sweep  sweep
	recent [recentBlocks]uint32 // blocks of .debug_str that are in the processor's cache, plus 1
	index  []byte               // the unit's part of .debug_str_offsets (for strx)
}

// printStart is the fingerprint into which nothing has been mixed yet.
var printStart = Fingerprint{printSeedA, printSeedB}

const (
	printSeedA = 0x9e3779b97f4a7c15
	printSeedB = 0xc2b2ae3d27d4eb4f
	printMul   = 0xa0761d6478bd642f

	maxPrintDepth = 500
)

func (f *Fingerprint) mix(v uint64) { *f = f.with(v, v) }

func (f *Fingerprint) mix2(a, b uint64) { *f = f.with(a, b) }

// with returns a copy of f into which a and b are mixed. f is a value, so it stays in registers.
// No information is lost: if two of f, (a, b) and the result are known, so is the third.
func (f Fingerprint) with(a, b uint64) Fingerprint {
	hi, lo := bits.Mul64(f.A^a, printMul)
	return Fingerprint{f.B ^ b ^ hi, lo}
}

// Forget prepares p for another file, with the given number.
func (p *Prints) Forget(file uint64) {
	p.File = file
	p.recent = [recentBlocks]uint32{}
}

// Reset prepares p for the unit that r has loaded.
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
	if r.in == r.D && !r.Unit.Dwarf64 {
		p.index = r.D.strOffsets[min(r.strBase, uint64(len(r.D.strOffsets))):]
	}
}

// place returns a fingerprint of an entry's place, not of its content. While the fingerprint of the
// entry is being made, the table holds the place instead, because C++ has cycles without a named
// type, such as an anonymous struct with methods.
func (p *Prints) place(off uint32) Fingerprint {
	return Fingerprint{p.unit.A ^ uint64(off), p.unit.B}
}

// Type returns the fingerprint of a reference to the type entry at offset off.
// Rule: fingerprints of types.
func (p *Prints) Type(off uint32) (Fingerprint, error) { return p.reference(off, off, 0) }

// reference is like Type, for a reference in the entry at offset die, which errors name. depth
// counts the references that are being followed.
func (p *Prints) reference(die, off uint32, depth int) (Fingerprint, error) {
	s, known := p.types.slot(off)
	if known {
		return s.fp, nil
	}
	return p.newType(s, die, off, depth)
}

// newType is like reference, for a type that is not in the table yet. s is the free slot for it.
func (p *Prints) newType(s *printSlot, die, off uint32, depth int) (fp Fingerprint, err error) {
	switch {
	case int(off) >= len(p.r.buf):
		return fp, p.r.Damaged(die, "a reference to offset %#x is outside of the unit", off)
	case off < p.r.Unit.HeaderLen:
		return fp, p.r.Damaged(off, "a reference to a type points into the unit's header")
	case depth > maxPrintDepth:
		return p.place(off), nil
	case p.r.work < 0: // lists of children may overlap
		if err := p.r.spend(off); err != nil {
			return fp, err
		}
	}
	b, pl, at := p.r.planned(off)
	if pl.prints&printTagName != 0 {
		name, ok := uint64(u32(b, pl.nameAt)&pl.nameMask), true
		if !p.r.little || pl.indexed() {
			name, ok = p.name(pl, name)
		}
		if ok {
			p.r.work--
			n := Fingerprint{name, name}
			if !p.Merged {
				if n, err = p.strp(off, name); err != nil {
					return fp, err
				}
			}
			fp = tagPrint(std.Tag(pl.tag)).with(n.A, n.B)
			p.types.put(s, off, fp)
			return fp, nil
		}
	}
	size := len(p.types.slots)
	p.types.put(s, off, p.place(off))
	end := uint32(0)
	if pl.prints&(printWhole|printTag) == printWhole {
		p.r.work--
		fp, end, err = p.mixAttributes(printStart, pl, b, at, depth)
		if end != 0 && pl.walk&planChildren != 0 && err == nil {
			fp, end, err = p.mixChildren(fp, end, depth)
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

// anyType is the part of newType for entries that the fast path can't handle.
func (p *Prints) anyType(off uint32, depth int) (fp Fingerprint, err error) {
	e, err := p.r.Peek(off)
	if err == nil && e.Abbrev == nil {
		err = p.r.Damaged(off, "a reference to a type does not point to an entry")
	}
	if err != nil {
		return fp, err
	}
	if e.Abbrev.named() {
		fp = tagPrint(e.Abbrev.Tag)
		return fp, p.mixString(&fp, off, e.Value(Name))
	}
	fp, _, err = p.entry(e, depth)
	return fp, err
}

// tagPrint begins the fingerprint of a reference to a named struct, union or enum.
func tagPrint(t std.Tag) Fingerprint { return Fingerprint{printSeedB ^ uint64(t), printSeedA} }

// Entry returns the fingerprint of e with its children, even if a reference to e would contribute
// only its kind and name. end is the offset after the children.
func (p *Prints) Entry(e Head) (fp Fingerprint, end uint32, err error) { return p.entry(e, 0) }

func (p *Prints) entry(e Head, depth int) (fp Fingerprint, end uint32, err error) {
	fp, err = p.mixEntry(printStart, e, depth)
	if err != nil || !e.Abbrev.Children {
		return fp, e.Next, err
	}
	return p.mixChildren(fp, e.Next, depth)
}

func (p *Prints) mixEntry(fp Fingerprint, e Head, depth int) (Fingerprint, error) {
	pl, at := &e.Abbrev.plan, e.pos-1
	if pl.prints&printWhole != 0 && int(at)+planReach <= len(p.r.buf) {
		sum, end, err := p.mixAttributes(fp, pl, (*window)(p.r.buf[at:]), at, depth)
		if err != nil || end != 0 {
			return sum, err
		}
	}
	err := p.plainAttributes(&fp, e.Off, depth)
	return fp, err
}

// mixChildren mixes into fp the entries of the list at offset off. end is the offset after them.
func (p *Prints) mixChildren(fp Fingerprint, off uint32, depth int) (_ Fingerprint, end uint32,
	err error) {
	fp, end, done, err := p.leaves(fp, off, depth)
	if done || err != nil {
		return fp, end, err
	}
	return p.mixRest(fp, end, depth)
}

// mixRest is the part of mixChildren for lists that have other entries than leaves, from the first
// such entry on.
func (p *Prints) mixRest(fp Fingerprint, off uint32, depth int) (_ Fingerprint, end uint32,
	err error) {
	for done := false; ; {
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
			fp, err = p.mixEntry(fp, c, depth)
			off = c.Next
		} else {
			sub := p.place(c.Off)
			if depth <= maxPrintDepth {
				sub, off, err = p.entry(c, depth+1)
			} else {
				p.EnclosedRoot = true // possibly
				off, err = p.r.After(c)
			}
			fp.mix2(sub.A, sub.B)
		}
		if err != nil {
			return fp, 0, err
		}
		if fp, off, done, err = p.leaves(fp, off, depth); err != nil || done {
			return fp, off, err
		}
	}
}
