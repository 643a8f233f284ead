// Package elf gives ELF files and archives as bytes with resolved addresses.
//
// Everything behind this package sees relocatable and linked files alike. In a
// relocatable file (ET_REL) every section starts at address 0, so a [File]
// gives each allocated section an address of its own (see layout.go), and
// symbol values and relocated data are computed with those. In linked files
// (ET_EXEC, ET_DYN) addresses are the file's, and relocation sections that the
// linker kept (ld --emit-relocs) are ignored, for they are applied already.
//
// Sources: the System V gABI chapters on object files and compressed sections,
// the processor supplements for relocation types, and the ar(5) formats of
// GNU, BSD and thin archives.
//
// Input is untrusted: all offsets, counts and sizes are checked, and no
// allocation is larger than the bytes that the file really holds justify.
// Files are memory mapped, so they must not be truncated while they are open.
package elf
