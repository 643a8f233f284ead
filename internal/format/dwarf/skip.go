package dwarf

import (
	"encoding/binary"
	"math/bits"
)

// window is the bytes of an entry that has a plan, starting with the last byte of its code.
type window = [planReach]byte

// planned returns the entry at offset off and its plan. at is the offset of the window. The plan is
// zero if the entry has none, or if the entry is near the end of the unit.
func (r *Reader) planned(off uint32) (b *window, p *plan, at uint32) {
	if int(off) > len(r.buf)-planReach {
		return nil, &noPlan, off
	}
	b = (*window)(r.buf[off:])
	if b[0] >= shortCodes {
		if int(off) == len(r.buf)-planReach {
			return nil, &noPlan, off
		}
		if p = r.abbrevs.plans.ofTwo(b[0], b[1]); p == &noPlan {
			return nil, p, off
		}
		return (*window)(r.buf[off+1:]), p, off + 1
	}
	return b, &r.abbrevs.plans.of[b[0]], off
}

var noPlan plan

// isC reports whether a DW_AT_language is C. C compilers write a definition that is nested in a
// struct as if it were at file scope.
func isC(language uint64) bool {
	switch language {
	case 0x01, 0x02, 0x0c, 0x1d, 0x2c: // C89, C, C99, C11, C17
		return true
	}
	return false
}

// Skipping says which entries Skip skips, and where it stops.
type Skipping uint8

const (
	// SkipGlobal skips entries that declare nothing to be encoded, and looks through their children.
	SkipGlobal Skipping = iota
	// SkipLocal is like SkipGlobal, in a function, where variables are not encoded.
	SkipLocal
	// SkipToCall skips entries in a function and their children. It stops at a block, an inlined call,
	// a parameter, and an entry that declares or may enclose something that is encoded.
	SkipToCall

	skipGlobalInC
	skipToParameter // like SkipLocal, but stops at parameters and inlined calls on the first level
	skipAll
)

// skippings has the ways to skip: first for the level on which Skip begins, then for deeper levels.
var skippings = [...][2]skipping{
	SkipGlobal:    {globally, globally},
	SkipLocal:     {locally, locally},
	SkipToCall:    {{skipped: locally.skipped, stop: planStop | planEnter | planStruct}},
	skipGlobalInC: {{skipped: planIdle, enter: planEnter}, globally},
	skipToParameter: {
		{skipped: locally.skipped, stop: planStop, enter: locally.enter}, locally},
	skipAll: {wholly, wholly},
}

var (
	globally = skipping{skipped: planIdle, enter: planEnter | planStruct}
	locally  = skipping{skipped: planIdle | planLocal, enter: planEnter | planStruct}
	wholly   = skipping{skipped: planSized, through: true}
)

// skipping says how entries on one level are skipped.
type skipping struct {
	skipped walkFlags // stop at entries whose plans have none of these flags
	stop    walkFlags // stop at entries whose plans have one of these flags
	enter   walkFlags // look through the children of entries whose plans have one of these flags
	through bool      // also look through the children of entries without DW_AT_sibling
}

// Skip skips entries from offset off on. It stops where how says so, at an entry without a usable
// plan, or at the end of the list of siblings in which it began. deeper is the level at which it
// stopped, relative to the first entry. It may skip children with DW_AT_sibling if it need not look
// through them, or if they are too small to declare anything.
//
// Skip is for the loops of the conversion. It may also stop at other entries.
func (r *Reader) Skip(off uint32, how Skipping) (next uint32, deeper int) {
	if how == SkipGlobal && r.isC {
		how = skipGlobalInC
	}
	next, deeper = r.skipFrom(off, &skippings[how])
	r.work -= int64((next - off) / 4) // a guess: 4 bytes per entry
	return next, deeper
}

// skipFrom does the work of Skip.
func (r *Reader) skipFrom(off uint32, how *[2]skipping) (_ uint32, deeper int) {
	buf, plans := r.buf, r.abbrevs.plans
	lowest := 0 // the lowest level that a step may reach
	if how[0].stop != 0 {
		lowest = 1
	}
	for int(off) <= len(buf)-planReach {
		b := (*window)(buf[off:])
		if step := plans.steps[b[0]]; step != 0 {
			if level := deeper + int(plans.deeper[b[0]]); level >= lowest {
				off += uint32(step)
				deeper = level
				continue
			}
		}
		p, level := &plans.of[b[0]], &how[0]
		if deeper > 0 {
			level = &how[1]
		}
		lead := uint32(0) // bytes before those that the plan describes
		if p.walk&level.skipped == 0 {
			if b[0] == 0 && deeper > 0 {
				off++
				deeper--
				continue
			}
			if b[0] < shortCodes {
				break
			}
			if p = plans.ofTwo(b[0], b[1]); p.walk&level.skipped == 0 {
				break
			}
			lead = 1
		}
		if p.walk&level.stop != 0 {
			break
		}
		if p.walk&planLead != 0 {
			_, n := short(binary.LittleEndian.Uint64(b[1+lead:]))
			if n == 0 {
				break
			}
			lead += n
		}
		at := off + lead + uint32(p.size)
		if p.walk&planChildren != 0 {
			next := uint32(0)
			if p.sibling != 0 {
				next = u32(b, uint8(lead)+p.sibling)
				if !r.little {
					next = bits.ReverseBytes32(next)
				}
				if next <= off || int(next) > len(buf) {
					break
				}
			}
			if p.walk&level.enter == 0 || next-at <= r.abbrevs.declaring {
				if next != 0 {
					off = next
					continue
				}
				if !level.through {
					break
				}
			}
		}
		if p.varying != 0 {
			if at = r.overVarying(p, at); at == 0 {
				break
			}
		}
		off = at
		if p.walk&planChildren != 0 {
			deeper++
		}
	}
	return off, deeper
}

// overVarying skips the attributes that vary in size, the first of which is at offset off, and the
// bytes after each of them. It returns the offset after all these, or 0 if a size can't be read.
func (r *Reader) overVarying(p *plan, off uint32) uint32 {
	for _, tail := range p.tails[:p.varying&varyingCount] {
		for int(off) < len(r.buf) && r.buf[off] >= 0x80 {
			if tail < tailLEB {
				return 0
			}
			off++
		}
		if tail < tailLEB && int(off) < len(r.buf) {
			off += uint32(r.buf[off])
		}
		off += 1 + uint32(tail%tailLEB)
	}
	if int(off) > len(r.buf) {
		return 0
	}
	return off
}

// u32 reads a little-endian number at a distance of up to 63 bytes, without bounds checks.
func u32(b *window, at uint8) uint32 {
	i := int(at & 63)
	return uint32(b[i]) | uint32(b[i+1])<<8 | uint32(b[i+2])<<16 | uint32(b[i+3])<<24
}

// u64 is like u32, for 8 bytes.
func u64(b *window, at uint32) uint64 {
	i := int(at & 63)
	return binary.LittleEndian.Uint64(b[i : i+8])
}

// leb4 returns the undecoded LEB128 number at the start of w, and its length (0 if over 4 bytes).
func leb4(w uint32) (v, n uint32) {
	last := ^w & 0x80808080
	if last == 0 {
		return 0, 0
	}
	end := last & -last // the top bit of the first byte whose top bit is 0
	return w & (end<<1 - 1), uint32(bits.TrailingZeros32(end))/8 + 1
}

// inline8 reads the string at the start of an entry, if that string has up to 7 bytes. n is its
// length with the NUL, or 0 if the string is longer.
func inline8(b *window) (s uint64, n uint32) {
	return short(binary.LittleEndian.Uint64(b[1:9]))
}

// short is like inline8, for a string at the start of w.
func short(w uint64) (s uint64, n uint32) {
	zero := (w - 0x0101010101010101) & ^w & 0x8080808080808080
	if zero == 0 {
		return 0, 0
	}
	end := zero & -zero >> 7 // the lowest bit of the first byte that is 0
	return w & (end - 1), uint32(bits.TrailingZeros64(end))/8 + 1
}
