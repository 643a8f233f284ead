package dwarf

import (
	std "debug/dwarf"
	"encoding/binary"
	"math/bits"
)

// What is here makes fingerprints of entries whose attributes lie at fixed distances, as nearly all
// do: with plans, and where the byte order or the attributes don't allow that, attribute by
// attribute (fixed). fingerprint.go says what a fingerprint is, and does for any entry. The two
// need not give the same one, for an abbreviation declaration has one way for all its entries but
// those at the end of a unit; but entries that have equal ones here have equal ones there
// (TestFastFingerprints).

// leaves mixes the entries from off on into fp, as long as they are of the usual kind: without
// children and with attributes at fixed places, as nearly all members, parameters and enumerators
// are. It returns where it stopped, and whether that is beyond the end of the list.
//
// This is the innermost loop of all: most of a kernel's DWARF are members. What is rarer in it is
// left to usual.
func (p *Prints) leaves(fp Fingerprint, off uint32, depth int) (_ Fingerprint, next uint32,
	end bool, err error) {
	r := p.r
	if r.plans == nil || p.plainly {
		return fp, off, false, nil
	}
	if r.plans.indexed {
		return p.indexedLeaves(fp, off, depth)
	}
	start, buf, plans := off, r.buf, r.plans
	member := planMember
	if !p.Merged {
		member = 0
	}
	for int(off) <= len(buf) {
		rest := buf[off:]
		if len(rest) < planReach || rest[0] >= plannedCodes {
			break
		}
		b, pl := (*near)(rest), &plans.of[rest[0]]
		if pl.flags&member != 0 { // usual, spelled out
			w := u64(b, pl.refAt)
			ref := uint32(w)
			t := p.types.at(ref)
			to := t.fp
			if !p.types.holds(t, ref) {
				if to, err = p.newType(t, off, ref, depth+1); err != nil {
					return fp, off, false, err
				}
			}
			word := pl.print ^ uint64(binary.LittleEndian.Uint32(b[1:5])&pl.nameMask) ^ w&pl.valueMask
			fp = fp.with(to.A^word, to.B^bits.RotateLeft64(word, 29))
			off += uint32(pl.size)
			continue
		}
		if pl.flags&planLeaf == 0 {
			if rest[0] == 0 {
				fp = fp.with(printSeedB, printSeedB)
				end = true
				off++
			}
			break
		}
		sum, next, err := p.usual(fp, pl, b, off, depth)
		if err != nil {
			return fp, off, false, err
		}
		if next == 0 {
			break
		}
		fp, off = sum, next
	}
	r.work -= int64(off-start) / 4 // entries of a few bytes
	return fp, off, end, nil
}

// usual mixes the attributes of the entry at die, which b begins with and which follows its plan.
// It returns the offset after them, 0 if the entry isn't usual after all.
func (p *Prints) usual(fp Fingerprint, pl *plan, b *near, die uint32, depth int) (Fingerprint,
	uint32, error) {
	lead := uint8(0) // the size of the leading string
	word := pl.print
	if pl.flags&(planLead|planOdd) != 0 {
		if pl.flags&planOdd != 0 {
			return p.odd(fp, pl, b, die, depth)
		}
		s, n := inline8(b)
		if n == 0 {
			return fp, 0, nil
		}
		if s < 1<<32 {
			word ^= s
		} else {
			fp.mix2(s, 0)
		}
		lead = uint8(n)
	}
	name := uint64(u32(b, lead+pl.nameAt) & pl.nameMask)
	if p.Merged {
		word ^= name
	} else if pl.nameMask != 0 {
		n, err := p.strp(die, name)
		if err != nil {
			return fp, 0, err
		}
		fp.mix2(n.A, n.B)
	}
	word ^= uint64(u32(b, lead+pl.valueAt)) << 32 & pl.valueMask
	next := die + uint32(lead) + uint32(pl.size)
	if pl.flags&planRef == 0 {
		fp.mix(word)
		return fp, next, nil
	}
	ref := u32(b, lead+pl.refAt)
	t := p.types.at(ref)
	to := t.fp
	if !p.types.holds(t, ref) {
		var err error
		if to, err = p.newType(t, die, ref, depth+1); err != nil {
			return fp, 0, err
		}
	}
	fp.mix2(to.A^word, to.B^(bits.RotateLeft64(word, 29)))
	return fp, next, nil
}

// newType is Type for an entry that is not known yet, which belongs in the slot s. die is where the
// reference is.
func (p *Prints) newType(s *printSlot, die, off uint32, depth int) (fp Fingerprint, err error) {
	r := p.r
	switch {
	case int(off) >= len(r.buf):
		return fp, r.Errorf(die, "a reference to %#x leaves the unit", off)
	case off < r.Unit.HeaderLen:
		return fp, r.Errorf(off, "a reference to a type leads into the unit's header")
	case depth > maxPrintDepth:
		return p.place(off), nil
	}
	b, pl := r.at(off)
	switch {
	case b == nil || p.plainly:
		return p.plainType(off, depth)
	case pl.flags&planTag != 0 && p.Merged:
		r.work--
		name := uint64(u32(b, pl.nameAt))
		if pl.flags&planOdd != 0 {
			var ok bool
			if name, ok = p.offset(pl, b); !ok {
				return p.plainType(off, depth)
			}
		}
		fp = tagPrint(std.Tag(pl.tag))
		fp.mix(name)
		p.types.put(s, off, fp)
		return fp, nil
	case pl.flags&(planUsual|planNamed) != planUsual:
		return p.plainType(off, depth)
	}
	r.work--
	size := len(p.types.slots)
	p.types.put(s, off, p.place(off))
	fp = Fingerprint{printSeedA, printSeedB}
	if pl.flags&(planRef|planChild|planLead|planOdd) == planRef && p.Merged {
		ref := u32(b, pl.refAt)
		t := p.types.at(ref)
		to := t.fp
		if !p.types.holds(t, ref) {
			if to, err = p.newType(t, off, ref, depth+1); err != nil {
				return fp, err
			}
		}
		word := pl.print ^ uint64(u32(b, pl.nameAt)&pl.nameMask) ^
			uint64(u32(b, pl.valueAt))<<32&pl.valueMask
		fp = fp.with(to.A^word, to.B^bits.RotateLeft64(word, 29))
	} else {
		next := uint32(0)
		if fp, next, err = p.usual(fp, pl, b, off, depth); err != nil {
			return fp, err
		}
		if next == 0 {
			return p.plainType(off, depth)
		}
		if pl.flags&planChild != 0 {
			if fp, _, err = p.children(fp, next, depth); err != nil {
				return fp, err
			}
		}
	}
	if len(p.types.slots) == size {
		s.fp = fp
	} else { // the table has grown, so that s is no longer one of its slots
		p.types.set(off, fp)
	}
	return fp, nil
}

// Definition returns the fingerprint of the definition of a tag, an enum or a typedef at off, and
// the offset after it, if it follows its plan; else end is 0.
func (p *Prints) Definition(off uint32) (fp Fingerprint, end uint32, err error) {
	b, pl := p.r.at(off)
	if b == nil || pl.flags&planComplete == 0 {
		return fp, 0, nil
	}
	if std.Tag(pl.tag) == std.TagTypedef {
		if pl.flags&planChild != 0 || pl.varying != 0 { // its size isn't in the plan
			return fp, 0, nil
		}
		lead := uint32(0)
		if pl.flags&planLead != 0 {
			if _, lead = inline8(b); lead == 0 {
				return fp, 0, nil
			}
		}
		fp, err = p.Type(off, 0)
		return fp, off + lead + uint32(pl.size), err
	}
	p.r.work--
	fp, end, err = p.usual(Fingerprint{printSeedA, printSeedB}, pl, b, off, 0)
	if err == nil && end != 0 && pl.flags&planChild != 0 {
		fp, end, err = p.children(fp, end, 0)
	}
	return fp, end, err
}

// strp is the fingerprint of a string in .debug_str, by content.
func (p *Prints) strp(die uint32, v uint64) (Fingerprint, error) {
	n := &p.names[v*printSeedA>>(64-nameBits)]
	if n.off == v+1 {
		return n.fp, nil
	}
	str := p.r.D.str
	fp, ok := printString(str[min(v, uint64(len(str))):])
	if !ok { // it ends the section, is long, or wrong
		s, err := p.r.StringAt(die, ClassStrp, v)
		if err != nil {
			return fp, err
		}
		fp = printBytes(s)
	}
	*n = nameSlot{v + 1, fp}
	return fp, nil
}

// plain returns the entry from the last byte of its code on, if it can be read by its plan; else
// nil.
func (p *Prints) plain(e Peeked) *near {
	if p.plainly || e.Abbrev.plan.flags&planUsual == 0 || !p.r.little ||
		int(e.Pos)-1+planReach > len(p.r.buf) {
		return nil
	}
	return (*near)(p.r.buf[e.Pos-1:])
}

// fixed mixes the attributes of an entry that has them at fixed places. Small values are gathered
// and go in together: with the next reference, or when there are two.
func (p *Prints) fixed(fp *Fingerprint, e Peeked, depth int) error {
	a, r := e.Abbrev, p.r
	b := r.buf[e.body:e.Next]
	if near := p.plain(e); near != nil {
		if sum, next, err := p.usual(*fp, &a.plan, near, e.Pos-1, depth); err != nil || next != 0 {
			*fp = sum
			return err
		}
	}
	word, small := a.print, uint(0)
	for i := range a.ops {
		o := &a.ops[i]
		if o.attr == Sibling {
			continue
		}
		v := r.number(o, b, int(e.Pos))
		switch {
		case o.class == ClassConst, o.class == ClassStrp && p.Merged:
			if v >= 1<<32 {
				fp.mix2(v, uint64(o.attr))
				continue
			}
			if small == 64 {
				fp.mix(word)
				word, small = 0, 0
			}
			word ^= v << small
			small += 32
		case o.class == ClassRef && v < r.Unit.Len:
			t, err := p.Type(uint32(v), depth+1)
			if err != nil {
				return err
			}
			fp.mix2(t.A^word, t.B^bits.RotateLeft64(word, 29))
			word, small = 0, 0
		default:
			if err := p.mixValue(fp, e, o.attr, o.class, v, depth); err != nil {
				return err
			}
		}
	}
	if word != 0 {
		fp.mix(word)
	}
	return nil
}

// printSchema stands for a tag and wanted attributes and their classes.
func printSchema(tag std.Tag, ops []op) uint64 {
	fp := Fingerprint{printSeedA, printSeedB}
	fp.mix(uint64(tag))
	for i := range ops {
		if o := &ops[i]; o.attr != Sibling {
			fp.mix(uint64(o.form)<<16 | uint64(o.attr)<<8 | uint64(o.class))
		}
	}
	return fp.A
}

// maxPrintString is how many bytes printString looks at.
const maxPrintString = 256

// printString is printBytes of the string that b begins with, up to its NUL. ok is false if that is
// not found at once.
func printString(b []byte) (fp Fingerprint, ok bool) {
	fp = Fingerprint{printSeedA, printSeedB}
	for b = b[:min(len(b), maxPrintString)]; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		if s, n := short(w); n != 0 {
			v := s | uint64(n-1)<<56
			return fp.with(v, v), true
		}
		fp = fp.with(w, w)
	}
	return fp, false
}
