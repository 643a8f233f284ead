// Package elf reads ELF files and archives, and returns their content with relocations applied.
//
// Go's debug/elf isn't used for three reasons: it allocates memory for each symbol, and kernels
// have 200,000; it gives the sections of relocatable files no addresses; and it applies few types
// of relocations.
//
// To callers, relocatable and linked files look alike. In a relocatable file (ET_REL), every
// section starts at address 0. So a [File] gives each allocated section its own address
// (addresses.go), and uses these addresses in symbol values and relocated data. In linked files
// (ET_EXEC, ET_DYN), the addresses are those in the file. Relocation sections in linked files (ld
// --emit-relocs) are ignored, because the linker has already applied them.
//
// Sources: the System V gABI's chapters on object files and compressed sections; the processor
// supplements for relocation types; ar(5) for the GNU, BSD and thin archive formats.
//
// Input is untrusted: all offsets, counts and sizes are checked, and no allocation is larger than
// what the bytes of the file justify. Files are memory-mapped. If a file is truncated while it is
// mapped, a read may panic (see package mapped).
package elf
