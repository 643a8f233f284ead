package elf

import (
	"cmp"
	stdelf "debug/elf"
	"encoding/binary"
	"runtime"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// The fast path: RELA relocations of 64-bit little-endian machines whose types are plain addresses,
// of 64 or 32 bits. Nearly all relocations of DWARF are that. run and apply do everything else, and
// the same for these (TestFastEqualsPlain).

// rela64Size is the size of an Elf64_Rela in bytes.
const rela64Size = 24

// hasFast reports whether runFast can be called.
func (a *applier) hasFast() bool {
	f := a.s.f
	return a.rela && f.AddrSize == 8 && f.Order == binary.LittleEndian && f.Machine != stdelf.EM_MIPS
}

// runFast is run, faster.
func (a *applier) runFast(rel []byte) error {
	for {
		if rel = rel[a.addresses(rel, 0):]; len(rel) < rela64Size {
			return nil
		}
		if err := a.applyFirst(rel); err != nil {
			return err
		}
		rel = rel[rela64Size:]
	}
}

// addresses applies relocations up to the first one that is not a plain address that fits in
// a.data. It returns the size of those that it has applied. a.data begins at offset from of the
// section.
func (a *applier) addresses(rel []byte, from uint64) int {
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

// minPart is how many relocations are worth a thread.
const minPart = 1 << 18

// part is a range of a section's bytes, and the range of the relocations that change these bytes
// and no others.
type part struct {
	lo, hi      uint64 // offsets in the section
	first, last int    // indexes of relocations
}

// loadInParts fills data with the relocated content of a section that is not compressed, with
// several threads. It returns false if that is not possible, and then data is to be filled anew:
// the section has too few relocations, or they are not in the order of their offsets, or some of
// them are wrong or not plain addresses.
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
			if s.readRaw(mine.data, int64(p.lo)) != nil || !mine.part(p) {
				failed.Store(true)
			}
		})
	}
	wg.Wait()
	return len(parts) > 0 && !failed.Load()
}

// partThreads returns how many threads are to load the section.
func (s *Section) partThreads() int {
	if len(s.relocs) != 1 {
		return 1
	}
	return min(cmp.Or(s.f.Threads, runtime.GOMAXPROCS(0)), len(s.relocs[0].raw)/rela64Size/minPart)
}

// parts cuts the section and its relocations into n parts. It returns nil if the offsets of the
// relocations at which it cuts are not in order.
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

// part applies the relocations of p to a.data, the bytes of p. It reports whether all of them are
// plain addresses in these bytes.
func (a *applier) part(p part) bool {
	buf := make([]byte, min(p.last-p.first, chunkEntries)*rela64Size)
	for at := p.first; at < p.last; at += len(buf) / rela64Size {
		buf = buf[:min(len(buf), (p.last-at)*rela64Size)]
		if _, err := a.r.ReadAt(buf, int64(at*rela64Size)); err != nil ||
			a.addresses(buf, p.lo) < len(buf) {
			return false
		}
	}
	return true
}
