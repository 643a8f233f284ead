package dwarf

import "encoding/binary"

// leaves mixes the entries from off on into fp, as long as they are of the usual kind: without children and with
// attributes at fixed places, as nearly all members, parameters and enumerators are. It returns where it stopped, and
// whether that is behind the end of the list.
//
// This is the innermost loop of all: most of a kernel's DWARF are members. What is rarer in it is left to usual.
func (p *Prints) leaves(fp Fingerprint, off uint32, depth int) (_ Fingerprint, next uint32, end bool, err error) {
	r := p.r
	buf, plans := r.buf, r.abbrevs.plans
	if !r.little || len(plans) < plannedCodes {
		return fp, off, false, nil
	}
	plans = plans[:plannedCodes]
	for int(off)+1+planReach <= len(buf) {
		code := buf[off]
		if code >= plannedCodes {
			break
		}
		pl := &plans[code]
		if pl.flags&planLeaf == 0 {
			if code == 0 {
				fp.mix(printSeedB)
				return fp, off + 1, true, nil
			}
			break
		}
		r.work--
		if pl.flags&planLead == 0 && p.Merged {
			b := (*near)(buf[off+1:])
			word := pl.print ^ uint64(u32(b, pl.nameAt)&pl.nameMask) ^
				uint64(pl.value^u32(b, pl.valueAt)&pl.valueMask)<<32
			if pl.flags&planRef == 0 {
				fp.mix(word)
				off += 1 + uint32(pl.size)
				continue
			}
			ref := u32(b, pl.refAt)
			if t := p.types.at(ref); p.types.holds(t, ref) {
				fp.mix2(t.fp.A^word, t.fp.B^(word<<29|word>>35))
				off += 1 + uint32(pl.size)
				continue
			}
		}
		sum, next, err := p.usual(fp, pl, off+1, depth)
		if err != nil {
			return fp, off, false, err
		}
		if next == 0 {
			break
		}
		fp, off = sum, next
	}
	return fp, off, false, nil
}

// usual mixes the attributes of an entry that follows its plan; they begin at off, and the buffer goes on for planReach.
// It returns the offset behind them, 0 if the entry isn't usual after all.
func (p *Prints) usual(fp Fingerprint, pl *plan, off uint32, depth int) (Fingerprint, uint32, error) {
	die := off - 1
	b := (*near)(p.r.buf[off:])
	at := uint8(0) // behind the leading string
	word := pl.print ^ uint64(pl.value)<<32
	if pl.flags&planLead != 0 {
		s, n := inline8(binary.LittleEndian.Uint64(b[:]))
		if n == 0 {
			return fp, 0, nil
		}
		if s < 1<<32 {
			word ^= s
		} else {
			fp.mix2(s, 0)
		}
		at = uint8(n)
		off += n
	}
	name := uint64(u32(b, at+pl.nameAt) & pl.nameMask)
	if p.Merged {
		word ^= name
	} else if pl.nameMask != 0 {
		n, err := p.strp(die, name)
		if err != nil {
			return fp, 0, err
		}
		fp.mix2(n.A, n.B)
	}
	word ^= uint64(u32(b, at+pl.valueAt)&pl.valueMask) << 32
	off += uint32(pl.size)
	if pl.flags&planRef == 0 {
		fp.mix(word)
		return fp, off, nil
	}
	ref := u32(b, at+pl.refAt)
	if uint64(ref) >= uint64(len(p.r.buf)) {
		return fp, 0, p.r.Errorf(die, "a reference to %#x leaves the unit", ref)
	}
	t := p.types.at(ref)
	to := t.fp
	if !p.types.holds(t, ref) {
		var err error
		if to, err = p.newType(t, ref, depth+1); err != nil {
			return fp, 0, err
		}
	}
	fp.mix2(to.A^word, to.B^(word<<29|word>>35))
	return fp, off, nil
}

// newUsual is newType for an entry that follows its plan. It returns busy if the entry isn't usual after all.
func (p *Prints) newUsual(s *printSlot, pl *plan, off uint32, depth int) (Fingerprint, error) {
	size := len(p.types.slots)
	marked := pl.flags&(planRef|planChild) != 0
	if marked {
		p.types.put(s, off, busy)
	}
	fp, next, err := p.usual(Fingerprint{printSeedA, printSeedB}, pl, off+1, depth)
	if err != nil {
		return fp, err
	}
	if next == 0 {
		return busy, nil
	}
	if pl.flags&planChild != 0 {
		if fp, _, err = p.children(fp, next, depth); err != nil {
			return fp, err
		}
	}
	switch {
	case !marked:
		p.types.put(s, off, fp)
	case len(p.types.slots) == size:
		s.fp = fp
	default: // the table has grown, so that s is none of its slots
		p.types.set(off, fp)
	}
	return fp, nil
}

// strp is the fingerprint of a string in .debug_str, by content.
func (p *Prints) strp(die uint32, v uint64) (Fingerprint, error) {
	n := &p.names[v*printSeedA>>(64-nameBits)]
	if n.off != v+1 {
		s, err := p.r.StringAt(die, ClassStrp, v)
		if err != nil {
			return Fingerprint{}, err
		}
		*n = nameSlot{v + 1, printBytes(s)}
	}
	return n.fp, nil
}

// inline is the fingerprint of an inline string: of up to 7 bytes, the bytes themselves.
func (p *Prints) inline(die uint32, v uint64) (Fingerprint, error) {
	if b := p.r.buf[v:]; len(b) >= 8 {
		if s, n := inline8(binary.LittleEndian.Uint64(b)); n != 0 {
			return Fingerprint{A: s}, nil
		}
	}
	s, err := p.r.StringAt(die, ClassInline, v)
	if err != nil {
		return Fingerprint{}, err
	}
	return printBytes(s), nil
}
