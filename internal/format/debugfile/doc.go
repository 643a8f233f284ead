// Package debugfile finds the files that hold DWARF of other files: the separate debug file of a
// stripped one, and the supplementary file that dwz -m makes of what several files share.
//
// A separate debug file (objcopy --only-keep-debug, eu-strip -f) has the headers of all sections
// and the contents of the debug sections. It is found by the build-id of the stripped file and by
// its section .gnu_debuglink, in the places that GDB looks at. The two files together are as the
// file was before it was stripped ([elf.File.Complete]).
//
// A supplementary file is named by the section .gnu_debugaltlink, or .debug_sup in DWARF 5, with
// its build-id.
//
// What is found depends on the machine; the files are identified by hashes of what was linked, so
// what is read of them doesn't.
//
// Sources: GDB manual, 18.3 "Debugging Information in Separate Files"; DWARF version 5, 7.3.6; dwz
// for .gnu_debugaltlink.
package debugfile
