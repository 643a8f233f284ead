package elf

import (
	"cmp"
	stdelf "debug/elf"
	"encoding/binary"
	"runtime"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// The fast path is for 64-bit little-endian machines. It handles RELA relocations that store a
// plain address of 64 or 32 bits, as nearly all relocations in DWARF do. The methods run and apply
// handle all other relocations, and give the same results for plain addresses
// (TestFastEqualsPlain).

const rela64Size = 24

func (a *applier) hasFast() bool {
	f := a.s.f
	return a.rela && f.AddrSize == 8 && f.Order == binary.LittleEndian && f.Machine != stdelf.EM_MIPS
}

// runFast gives the same result as run, but is faster.
func (a *applier) runFast(rel []byte) error {
	for {
		if rel = rel[a.applyAddresses(rel, 0):]; len(rel) < rela64Size {
			return nil
		}
		if err := a.applyFirst(rel); err != nil {
			return err
		}
		rel = rel[rela64Size:]
	}
}

// applyAddresses applies relocations up to the first one that is not a plain address or is outside
// a.data. It returns the size, in bytes, of the relocations that it applied. The parameter from is
// the offset of a.data in the section.
func (a *applier) applyAddresses(rel []byte, from uint64) int {
	le := binary.LittleEndian
	data, ops, values := a.data, a.machine.ops, a.syms.values
	size := len(rel)
	for ; len(rel) >= rela64Size; rel = rel[rela64Size:] {
		off, info, addend := le.Uint64(rel)-from, le.Uint64(rel[8:]), le.Uint64(rel[16:])
		sym, typ := uint32(info>>32), uint32(info)
		if uint64(sym) >= uint64(len(values)) || uint64(typ) >= uint64(len(ops)) ||
			off >= uint64(len(data)) {
			break
		}
		v := values[sym] + addend
		field := data[off:]
		switch ops[typ] {
		case opAbs64:
			if len(field) >= 8 {
				le.PutUint64(field, v)
				continue
			}
		case opAbs32U, opAbs32:
			if len(field) >= 4 && v>>32 == 0 {
				le.PutUint32(field, uint32(v))
				continue
			}
		}
		break
	}
	return size - len(rel)
}

// minPart is the smallest number of relocations that is worth another thread.
const minPart = 1 << 18

// part is a range of a section's bytes, and a range of relocations that change only these bytes.
type part struct {
	lo, hi      uint64 // offsets in the section
	first, last int    // indexes of relocations
}

// loadInParts uses several threads to fill data with the relocated content of a section that is not
// compressed. It returns false if that is not possible, because the relocations are unsorted, or
// because some of them are wrong or not plain addresses. Then data must be filled again.
func (s *Section) loadInParts(data []byte, threads int) bool {
	if len(s.relocs) != 1 {
		return false
	}
	a, err := s.applier(s.relocs[0])
	if err != nil || !a.hasFast() {
		return false
	}
	parts := a.parts(threads)
	var failed atomic.Bool
	var wg parallel.Group
	for _, p := range parts {
		wg.Go(func() {
			mine := *a
			mine.data = data[p.lo:p.hi]
			if s.readRaw(mine.data, int64(p.lo)) != nil || !mine.applyPart(p) {
				failed.Store(true)
			}
		})
	}
	wg.Wait()
	return len(parts) > 0 && !failed.Load()
}

func (s *Section) partThreads() int {
	if len(s.relocs) != 1 {
		return 1
	}
	return min(cmp.Or(s.f.Threads, runtime.GOMAXPROCS(0)), len(s.relocs[0].raw)/rela64Size/minPart)
}

// parts divides the section and its relocations into n parts. It returns nil if the offsets of the
// relocations at which parts begin are not in order.
func (a *applier) parts(n int) []part {
	relocs, size := len(a.r.raw)/rela64Size, uint64(len(a.s.raw))
	parts := make([]part, n)
	for i := range parts {
		p := &parts[i]
		p.first, p.last, p.hi = i*relocs/n, (i+1)*relocs/n, size
		if i == 0 {
			continue
		}
		var word [8]byte
		if _, err := a.r.ReadAt(word[:], int64(p.first*rela64Size)); err != nil {
			return nil
		}
		p.lo = binary.LittleEndian.Uint64(word[:])
		if p.lo < parts[i-1].lo || p.lo > p.hi {
			return nil
		}
		parts[i-1].hi = p.lo
	}
	return parts
}

// applyPart applies the relocations of p to a.data, which holds the bytes of p. It reports whether
// all of these relocations are plain addresses within these bytes.
func (a *applier) applyPart(p part) bool {
	buf := make([]byte, min(p.last-p.first, chunkEntries)*rela64Size)
	for at := p.first; at < p.last; at += len(buf) / rela64Size {
		buf = buf[:min(len(buf), (p.last-at)*rela64Size)]
		if _, err := a.r.ReadAt(buf, int64(at*rela64Size)); err != nil ||
			a.applyAddresses(buf, p.lo) < len(buf) {
			return false
		}
	}
	return true
}
