// Package splitdwarf finds the split units that skeleton units refer to (-gsplit-dwarf): in .dwo
// files, in packages of .dwo files (.dwp), or in sections of the object file itself
// (-gsplit-dwarf=single). Wherever a .dwo file is, its unit is identified only by the dwo id, a
// checksum of the unit's content.
//
// GDB looks for a .dwo file in the directory of the compilation; libdw looks first in the directory
// of the ELF file. LLDB looks in both, and then, by base name, in further directories. This package
// looks first in the directories that the user names, then in the directory of the input. Only if
// the user names no directory does it also look where the compiler wrote the file.
package splitdwarf
