// Package splitdwarf finds the units that skeleton units stand for (-gsplit-dwarf): in .dwo files,
// in packages of these (.dwp), or in sections of the object itself (-gsplit-dwarf=single). A unit
// is identified by its dwo id alone, a checksum of it, wherever the file lies.
//
// Where GDB, LLDB and libdw look for a .dwo file: GDB in the directory of the compilation; libdw
// in that of the ELF file first; LLDB in both, and by base name in further ones. Here a directory
// that the user names comes first, and then nothing outside of it and the input's is read.
package splitdwarf
