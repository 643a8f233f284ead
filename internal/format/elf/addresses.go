package elf

import (
	"cmp"
	stdelf "debug/elf"
	"slices"
	"sort"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

const (
	layoutStart = 0x10000 // address of the first allocated section
	layoutGap   = 16      // unused bytes after each section
)

// layOut gives each allocated section of a relocatable file an address, starting at layoutStart.
// Sections keep their order, are aligned, and have a gap after them. So an address identifies
// its section, even an empty one, and the end of a section is not the start of the next. Sections
// that are not allocated (debug sections) are at 0, as in a linked file.
// Rule: addresses in relocatable files.
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
			return f.damaged("section %d (%s): alignment %d is not a power of two", s.Index,
				message.Printable(s.Name), s.Align)
		}
		// next < limit, so neither of these sums can wrap around.
		if align >= limit {
			return f.damaged("section %d (%s): alignment %d does not fit in the address space", s.Index,
				message.Printable(s.Name), s.Align)
		}
		addr := (next + align - 1) &^ (align - 1)
		if s.Size >= limit || addr+s.Size+layoutGap >= limit {
			return f.damaged("section %d (%s): %d bytes do not fit in the address space", s.Index,
				message.Printable(s.Name), s.Size)
		}
		s.Addr = addr
		next = addr + s.Size + layoutGap
	}
	return nil
}

type addressIndex struct {
	ranges []addrRange // of allocated sections, by start
	maxEnd []uint64    // maxEnd[i] is the largest end in ranges[:i+1]
}

// addrRange is the addresses [start, end) of an allocated section.
type addrRange struct {
	start, end uint64
	sec        *Section
}

// indexAddresses indexes a file's sections. It leaves out thread-local NOBITS sections (.tbss) of
// linked files, whose addresses overlap those of the next section.
func indexAddresses(f *File) (x addressIndex) {
	for _, s := range f.Sections {
		if s.Index == 0 || s.Flags&stdelf.SHF_ALLOC == 0 || s.Addr+s.Size < s.Addr {
			continue
		}
		if !f.Relocatable() && s.Flags&stdelf.SHF_TLS != 0 && s.Type == stdelf.SHT_NOBITS {
			continue
		}
		x.ranges = append(x.ranges, addrRange{s.Addr, s.Addr + s.Size, s})
	}
	slices.SortStableFunc(x.ranges, func(a, b addrRange) int { return cmp.Compare(a.start, b.start) })
	x.maxEnd = make([]uint64, len(x.ranges))
	end := uint64(0)
	for i, r := range x.ranges {
		end = max(end, r.end)
		x.maxEnd[i] = end
	}
	return x
}

// SectionAt returns the allocated section that holds addr, or nil. An empty section holds its own
// address unless another section holds it. Where sections of a linked file overlap, SectionAt
// returns the one with the highest start, or the last one in section order if several start there.
func (f *File) SectionAt(addr uint64) *Section {
	x := &f.addresses
	i := sort.Search(len(x.ranges), func(i int) bool { return x.ranges[i].start > addr })
	var empty *Section
	for i--; i >= 0 && x.maxEnd[i] >= addr; i-- {
		r := x.ranges[i]
		if addr < r.end {
			return r.sec
		}
		if r.start == r.end && r.start == addr && empty == nil {
			empty = r.sec
		}
		if r.start < addr && x.maxEnd[i] == addr {
			break
		}
	}
	return empty
}
