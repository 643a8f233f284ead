// Package elf reads ELF files and archives, and gives their content with resolved addresses.
//
// Go's debug/elf allocates for each symbol, of which kernels have 200,000, gives relocatable files
// no addresses, and applies few types of relocations, of which a module has a million.
//
// To its callers relocatable and linked files look alike. In a relocatable file (ET_REL) every
// section starts at address 0, so a [File] gives each allocated section its own address
// (addresses.go), and computes symbol values and relocated data with these. In linked files
// (ET_EXEC, ET_DYN) addresses are the file's, and relocation sections that the linker kept (ld
// --emit-relocs) are ignored, since they are applied already.
//
// Sources: the chapters of the System V gABI on object files and compressed sections, the processor
// supplements for relocation types, and ar(5) for the GNU, BSD and thin formats of archives.
//
// Input is untrusted: all offsets, counts and sizes are checked, and no allocation is larger than
// what the bytes of the file justify. Files are memory mapped: a read of one that was truncated
// since panics (package mapped).
package elf
