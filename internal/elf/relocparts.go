package elf

import (
	"cmp"
	stdelf "debug/elf"
	"encoding/binary"
	"runtime"
	"sync"
	"sync/atomic"
)

// minPart is how many relocations are worth a thread.
const minPart = 1 << 18

// part is a run of a section's bytes and of the relocations, by index, that change them and nothing
// else.
type part struct {
	lo, hi      uint64
	first, last int
}

// loadInParts makes the private copy of a large section, each part of it by a thread. It returns
// nil where that can't be done: if the relocations are not in the order of what they change, or
// others than addresses, or wrong.
func (s *Section) loadInParts() []byte {
	if len(s.relocs) != 1 || s.compressed() {
		return nil
	}
	r := s.relocs[0]
	parts := s.parts(r)
	if len(parts) < 2 {
		return nil
	}
	a, err := s.applier(r)
	if err != nil {
		return nil
	}
	data := s.f.m.alloc(len(s.raw))
	var failed atomic.Bool
	var wg sync.WaitGroup
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
	if failed.Load() {
		return nil
	}
	return data
}

// parts cuts the section and its relocations r for the file's threads.
func (s *Section) parts(r *Section) []part {
	n := len(r.raw) / rela64Size
	threads := min(cmp.Or(s.f.Threads, runtime.GOMAXPROCS(0)), n/minPart)
	if threads < 2 || r.Type != stdelf.SHT_RELA || s.f.AddrSize != 8 ||
		s.f.Order != binary.LittleEndian || s.f.Machine == stdelf.EM_MIPS {
		return nil
	}
	parts := make([]part, threads)
	for i := range parts {
		p := &parts[i]
		p.first, p.last, p.hi = i*n/threads, (i+1)*n/threads, uint64(len(s.raw))
		if i == 0 {
			continue
		}
		var word [8]byte
		if _, err := r.ReadAt(word[:], int64(p.first*rela64Size)); err != nil {
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

// part applies the relocations of p to a.data, the bytes of p. It tells whether all are addresses
// that lie there.
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
