package dwarf

import (
	"encoding/binary"
	"math/bits"
)

// What is here makes fingerprints of entries as clang writes them, whose plans are odd: names are
// indices into .debug_str_offsets, and LEB128 numbers are among the attributes.

// indexedLeaves is leaves for units that have names by index.
func (p *Prints) indexedLeaves(fp Fingerprint, off uint32, depth int) (_ Fingerprint, next uint32,
	end bool, err error) {
	start, buf, plans := off, p.r.buf, p.r.plans
	for int(off) <= len(buf) {
		rest := buf[off:]
		if len(rest) < planReach || rest[0] >= plannedCodes {
			break
		}
		b, pl := (*near)(rest), &plans.of[rest[0]]
		if pl.flags&planLeaf == 0 {
			if rest[0] == 0 {
				fp = fp.with(printSeedB, printSeedB)
				end = true
				off++
			}
			break
		}
		if pl.flags&(planRef|planLead) != planRef || pl.varying != 0 || !p.Merged {
			sum, next, err := p.usual(fp, pl, b, off, depth)
			if err != nil {
				return fp, off, false, err
			}
			if next == 0 {
				break
			}
			fp, off = sum, next
			continue
		}
		name, ok := uint64(u32(b, pl.nameAt)&pl.nameMask), true // as usual, but faster
		if pl.indexed() {
			if name, ok = p.strx(name); !ok {
				break
			}
		}
		ref := u32(b, pl.refAt)
		t := p.types.at(ref)
		to := t.fp
		if !p.types.holds(t, ref) {
			if to, err = p.newType(t, off, ref, depth+1); err != nil {
				return fp, off, false, err
			}
		}
		word := pl.print ^ name ^ uint64(u32(b, pl.valueAt))<<32&pl.valueMask
		fp = fp.with(to.A^word, to.B^bits.RotateLeft64(word, 29))
		off += uint32(pl.size)
	}
	p.r.work -= int64(off-start) / 4 // entries of a few bytes
	return fp, off, end, nil
}

// odd is usual for entries whose name is an index, or in which a LEB128 number is.
func (p *Prints) odd(fp Fingerprint, pl *plan, b *near, die uint32, depth int) (_ Fingerprint,
	next uint32, err error) {
	word, next := pl.print, die+uint32(pl.size)
	name, ok := p.offset(pl, b)
	if !ok {
		return fp, 0, nil
	}
	if p.Merged {
		word ^= name
	} else if pl.nameMask != 0 {
		n, err := p.strp(die, name)
		if err != nil {
			return fp, 0, err
		}
		fp.mix2(n.A, n.B)
	}
	word ^= uint64(u32(b, pl.valueAt)) << 32 & pl.valueMask
	if pl.varying != 0 {
		v, n := leb4(u32(b, pl.size))
		if pl.varying&varyingValue != 0 && n != 0 {
			word ^= uint64(v) << 32
		} else if n != 1 { // the plan takes it for a single byte
			return fp, 0, nil
		}
		next += n + uint32(pl.tails[0]%tailLEB)
	}
	if pl.flags&planRef == 0 {
		fp.mix(word)
		return fp, next, nil
	}
	ref := u32(b, pl.refAt)
	t := p.types.at(ref)
	to := t.fp
	if !p.types.holds(t, ref) {
		if to, err = p.newType(t, die, ref, depth+1); err != nil {
			return fp, 0, err
		}
	}
	return fp.with(to.A^word, to.B^bits.RotateLeft64(word, 29)), next, nil
}

// offset is where the name of the entry that b begins with is in .debug_str. ok is false where that
// isn't known at once.
func (p *Prints) offset(pl *plan, b *near) (off uint64, ok bool) {
	name := uint64(u32(b, pl.nameAt) & pl.nameMask)
	if pl.indexed() {
		return p.strx(name)
	}
	return name, true
}

// strx turns the index of a string into its offset in .debug_str. ok is false where that isn't done
// at once.
func (p *Prints) strx(i uint64) (off uint64, ok bool) {
	if at := 4 * i; i < 1<<32 && at+4 <= uint64(len(p.index)) {
		return uint64(binary.LittleEndian.Uint32(p.index[at:])), true
	}
	return 0, false
}
