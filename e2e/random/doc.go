// Package random writes random C and C++ programs, builds them, and tries to break the tools'
// promises: every way of making BTF gives the same bytes, and the BTF says what the DWARF says.
//
// A program is determined by its seed. It has a few units that define, declare and use a few tags
// and typedef names in scopes of all kinds, so most names have several definitions. Functions share
// names too: units have static, weak and strong functions with the same name, and aliases and
// clones of functions. The linker may drop some functions (--gc-sections).
//
// The file options.go chooses what a program consists of and how it is built. The files
// generate.go, vocabulary.go, form.go, scope.go, ctype.go, functions.go, declared.go and tags.go
// write the program, as a tree of text (source.go) from which shrink.go can remove pieces. Then
// build.go builds the program, and check.go lists the checks. The files roads, bytes, edits, dwz,
// splitdwarf, spelling and split compare ways of making the same BTF; sound.go checks all BTF that
// they make by the kernel's rules. The file unusual.go compiles units that BTF can't express. The
// files content, code, variables and annotations compare BTF with DWARF, which die and match read.
// The files pahole and compilerbtf compare BTF with BTF from other programs. The tests named known
// run some of the checks on fixed programs, with cases that are rare in random ones.
package random
