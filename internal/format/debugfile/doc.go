// Package debugfile finds files that hold the DWARF of other files: the separate debug file of a
// stripped file, and the supplementary file into which dwz -m moves what several files have in
// common.
//
// A separate debug file (objcopy --only-keep-debug, eu-strip -f) has the headers of all sections
// and the contents of the debug sections. Such a file is found by the stripped file's build-id or
// section .gnu_debuglink, in the places where GDB looks. Together, the stripped file and its debug
// file have the contents of the original file ([elf.File.Complete]).
//
// The section .gnu_debugaltlink, or .debug_sup in DWARF 5, has the name and the build-id of a
// supplementary file.
//
// Which files are found depends on the machine. Their contents don't, because the files are
// identified by hashes of what was linked.
//
// Sources: GDB manual, 18.3 "Debugging Information in Separate Files"; DWARF version 5, 7.3.6; dwz
// for .gnu_debugaltlink.
package debugfile
