package elf

// Tombstone reports whether addr is one that linkers write into the debugging information of a
// linked file where the code or the variable is not in the file: its section was dropped
// (--gc-sections), or folded into another one (lld --icf).
//
//   - 0, and 1 in .debug_ranges and .debug_loc, where 0 ends a list
//   - -1, and -2 in these lists
//
// What is at these addresses nevertheless, as in a file that is linked at 0, has a symbol there. A
// base address in a list may be a tombstone too; then the distance from it is added, which is 0 for
// the first range of a function.
//
// Relocatable files have no tombstones.
func (f *File) Tombstone(addr uint64) bool {
	last := ^uint64(0) >> (64 - 8*f.AddrSize)
	return !f.Relocatable() && (addr <= 1 || addr >= last-1)
}
