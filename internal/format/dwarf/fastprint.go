package dwarf

import "math/bits"

// The functions here make fingerprints of entries with plans. They read attributes at fixed
// distances, and mix in all attributes of an entry in one step. They assume that the plan has the
// place of each wanted attribute, which makePlan ensures, and that at least planReach bytes of the
// unit follow. All other entries take the plain path (plainprint.go). The two paths may give
// different fingerprints for equal entries. That costs little, because nearly all entries with the
// same declaration take the same path. It is safe, because entries with equal fingerprints always
// describe the same type (TestFastFingerprints).

// leaves loops over the entries from offset off up to the first one that is not a leaf, and mixes
// them into fp. Nearly all members, parameters and enumerators are leaves. next is the offset at
// which the loop stopped; end reports whether that is after the end of the list.
//
// Most time is spent in this loop, because most entries in a kernel's DWARF are members. So it
// reads each entry as a whole, not attribute by attribute.
func (p *Prints) leaves(fp Fingerprint, off uint32, depth int) (_ Fingerprint, next uint32,
	end bool, err error) {
	start, buf, plans := off, p.r.buf, p.r.abbrevs.plans
	member := printMember
	if !p.Merged || !p.r.little {
		member = 0
	}
	for int(off) <= len(buf)-planReach {
		b := (*window)(buf[off:])
		pl := &plans.of[b[0]]
		if pl.prints&member == 0 {
			if b[0] == 0 {
				fp, off, end = fp.with(printSeedB, printSeedB), off+1, true
				break
			}
			at := off
			if b[0] >= shortCodes && int(off) < len(buf)-planReach {
				at++
				pl = plans.ofTwo(b[0], b[1])
				b = (*window)(buf[at:])
			}
			if pl.prints&printLeaf == 0 {
				break
			}
			sum, next, err := p.mixAttributes(fp, pl, b, at, depth)
			if err != nil {
				return fp, off, false, err
			}
			if next == 0 {
				break
			}
			fp, off = sum, next
			continue
		}
		name := uint64(u32(b, pl.nameAt) & pl.nameMask)
		if pl.indexed() {
			var ok bool
			if name, ok = p.strx(name); !ok {
				break
			}
		}
		word := pl.print ^ name ^ uint64(u32(b, pl.valueAt)&pl.valueMask)<<32
		if pl.refAt == 0 {
			fp = fp.with(word, word)
			off += uint32(pl.size)
			continue
		}
		ref := u32(b, pl.refAt)
		t, known := p.types.slot(ref)
		to := t.fp
		if !known {
			if to, err = p.newType(t, off, ref, depth+1); err != nil {
				return fp, off, false, err
			}
		}
		fp = fp.with(to.A^word, to.B^bits.RotateLeft64(word, 29))
		off += uint32(pl.size)
	}
	p.r.work -= int64(off-start) / 4 // a guess: 4 bytes per entry
	return fp, off, end, nil
}

// mixAttributes mixes into fp the attributes of the entry at offset die. The entry is at the start
// of b. Its plan is pl, in which printWhole is set. next is the offset after the attributes, or 0
// if the entry must take the plain path.
func (p *Prints) mixAttributes(fp Fingerprint, pl *plan, b *window, die uint32, depth int) (
	_ Fingerprint, next uint32, err error) {
	lead := uint8(0) // the size of the leading string
	word := pl.print
	if pl.walk&planLead != 0 {
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
	next = die + uint32(lead) + uint32(pl.size)
	value := u32(b, lead+pl.valueAt) & pl.valueMask
	ref := u32(b, lead+pl.refAt)
	if !p.r.little {
		value, ref = bigEndian(value, pl.valueMask), bits.ReverseBytes32(ref)
	}
	if pl.varying != 0 {
		v, n := leb4(u32(b, pl.size))
		if pl.varying&varyingValue != 0 && n != 0 {
			value = v
		} else if n != 1 { // the plan assumes a single byte
			return fp, 0, nil
		}
		next += n + uint32(pl.tails[0]%tailLEB)
	}
	word ^= uint64(value) << 32
	if pl.nameMask != 0 {
		name := uint64(u32(b, lead+pl.nameAt) & pl.nameMask)
		if !p.r.little || pl.indexed() {
			var ok bool
			if name, ok = p.name(pl, name); !ok {
				return fp, 0, nil
			}
		}
		if p.Merged {
			word ^= name
		} else {
			n, err := p.strp(die, name)
			if err != nil {
				return fp, 0, err
			}
			fp.mix2(n.A, n.B)
		}
	}
	if pl.refAt == 0 {
		fp.mix(word)
		return fp, next, nil
	}
	var to Fingerprint
	switch {
	case pl.prints&printFar == 0:
		to, err = p.reference(die, ref, depth+1)
	case p.Other == nil:
		return fp, 0, nil
	default:
		to, err = p.elsewhere(die, uint64(ref), depth+1)
	}
	return fp.with(to.A^word, to.B^bits.RotateLeft64(word, 29)), next, err
}

// name returns the offset of a name in .debug_str. v has the bytes of the entry's DW_AT_name. ok is
// false if the entry must take the plain path.
func (p *Prints) name(pl *plan, v uint64) (off uint64, ok bool) {
	if !p.r.little {
		v = uint64(bigEndian(uint32(v), pl.nameMask))
	}
	if pl.indexed() {
		return p.strx(v)
	}
	return v, true
}

// bigEndian returns the big-endian number in the low bytes of v that mask covers.
func bigEndian(v, mask uint32) uint32 {
	return bits.ReverseBytes32(v) >> bits.LeadingZeros32(mask)
}

// strx turns the index of a string into the string's offset in .debug_str. ok is false if the entry
// must take the plain path.
func (p *Prints) strx(i uint64) (off uint64, ok bool) {
	if at := 4 * i; i < 1<<32 && at+4 <= uint64(len(p.index)) {
		return uint64(p.r.u32(p.index[at:])), true
	}
	return 0, false
}
