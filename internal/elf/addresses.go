package elf

import (
	stdelf "debug/elf"
	"slices"
	"sort"
)

const (
	layoutStart = 0x10000 // address of the first allocated section
	layoutGap   = 16      // unused bytes behind each section
)

// layOut gives each allocated section of a relocatable file an address: in
// section order from layoutStart on, aligned, never touching another one. So
// an address tells its section, the end of one section is not the start of the
// next, and an empty section has an address of its own. Sections that are not
// allocated (debug sections) are at 0, as in a linked file.
func (f *File) layOut() error {
	if f.Type != stdelf.ET_REL {
		return nil
	}
	limit := uint64(1) << 62
	if f.AddrSize == 4 {
		limit = 1 << 32
	}
	next := uint64(layoutStart)
	for _, s := range f.Sections {
		s.Addr = 0
		if s.Index == 0 || s.Flags&stdelf.SHF_ALLOC == 0 {
			continue
		}
		align := max(s.Align, 1)
		if align&(align-1) != 0 {
			return f.errorf("section %d (%s): alignment %d is not a power of two", s.Index,
				printable(s.Name), s.Align)
		}
		// next < limit, so neither sum can wrap around.
		if align >= limit {
			return f.errorf("section %d (%s): alignment %d does not fit the address space", s.Index,
				printable(s.Name), s.Align)
		}
		addr := (next + align - 1) &^ (align - 1)
		if s.Size >= limit || addr+s.Size+layoutGap >= limit {
			return f.errorf("section %d (%s): %d bytes do not fit the address space", s.Index,
				printable(s.Name), s.Size)
		}
		s.Addr = addr
		next = addr + s.Size + layoutGap
	}
	return nil
}

// addrRange is the addresses [start, end) of an allocated section.
type addrRange struct {
	start, end uint64
	sec        *Section
}

// indexAddresses prepares SectionAt. Thread-local NOBITS sections (.tbss) have
// addresses that overlap what follows in linked files, so they are left out
// there.
func (f *File) indexAddresses() {
	for _, s := range f.Sections {
		if s.Index == 0 || s.Flags&stdelf.SHF_ALLOC == 0 || s.Addr+s.Size < s.Addr {
			continue
		}
		if !f.Relocatable() && s.Flags&stdelf.SHF_TLS != 0 && s.Type == stdelf.SHT_NOBITS {
			continue
		}
		f.byAddr = append(f.byAddr, addrRange{s.Addr, s.Addr + s.Size, s})
	}
	slices.SortStableFunc(f.byAddr, func(a, b addrRange) int {
		switch {
		case a.start < b.start:
			return -1
		case a.start > b.start:
			return 1
		}
		return 0
	})
	f.maxEnd = make([]uint64, len(f.byAddr))
	end := uint64(0)
	for i, r := range f.byAddr {
		end = max(end, r.end)
		f.maxEnd[i] = end
	}
}

// SectionAt returns the allocated section that holds addr, or nil. An empty
// section holds its own address unless another section does. Where sections of
// a linked file overlap, the one that starts last wins, then the last one in
// section order.
func (f *File) SectionAt(addr uint64) *Section {
	i := sort.Search(len(f.byAddr), func(i int) bool { return f.byAddr[i].start > addr })
	var empty *Section
	for i--; i >= 0 && f.maxEnd[i] >= addr; i-- {
		r := f.byAddr[i]
		if addr < r.end {
			return r.sec
		}
		if r.start == r.end && r.start == addr && empty == nil {
			empty = r.sec
		}
		if r.start < addr && f.maxEnd[i] == addr {
			break
		}
	}
	return empty
}
