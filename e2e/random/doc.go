// Package random writes random C and C++ programs, builds them, and tries to break the tools'
// promises: every way of making BTF gives the same bytes, and the BTF says what the DWARF says.
//
// A program is determined by its seed. It has a few units that define, declare and use a few tags
// and typedef names in scopes of all kinds, so most names have several definitions. Functions share
// names too: units have static, weak and strong functions with the same name, with aliases and
// clones, and the linker may drop some (--gc-sections).
//
// The first choice is what a program consists of and how it is built (options). The files
// generate.go, vocabulary.go, form.go, scope.go, ctype.go, functions.go and tags.go write the
// program, as a tree of text (source.go) from which shrink.go can remove pieces. Then build.go
// builds the program, and check.go runs the checks. The files roads, bytes, edits, dwz, splitdwarf,
// spelling and split compare ways of making the same BTF. The files content, code, variables and
// annotations compare BTF with DWARF (by means of die and match); pahole and compilerbtf compare it
// with other BTF.
package random
