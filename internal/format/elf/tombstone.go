package elf

// Tombstone reports whether addr is a tombstone: an address that linkers write to the debug
// information of a linked file for code or a variable that is not in the file, because its section
// was dropped (--gc-sections) or folded into another one (lld --icf). Tombstones are
//
//   - 0, or 1 in .debug_ranges and .debug_loc, where 0 ends a list
//   - -1, or -2 in these lists
//
// Real code or variables at such an address, as in a file that is linked at 0, have a symbol there.
// A base address in a list may also be a tombstone. The offset of a range is added to the base; for
// the first range of a function, that offset is 0.
//
// Relocatable files have no tombstones.
// Rule: tombstones: addresses that linkers write for dropped code.
func (f *File) Tombstone(addr uint64) bool {
	last := ^uint64(0) >> (64 - 8*f.AddrSize)
	return !f.Relocatable() && (addr <= 1 || addr >= last-1)
}
