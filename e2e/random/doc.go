// Package random writes random C and C++ programs, builds them, and tries to break what the tools
// promise: the same bytes whatever the way to them, and BTF that says what the DWARF says.
//
// A program follows from its seed alone. It has a few units that define, declare and use a few tags
// and typedef names in scopes of all kinds, so names with several definitions are the rule. So they
// are for functions: units have static, weak and strong ones of one name, with aliases and clones,
// and the linker may drop some (--gc-sections).
//
// What a program is made of and how it is built is drawn first (options). Data flows from generate
// (over vocabulary, form, scope and ctype; functions and tags have what their names say) to source,
// a tree of text that shrink can take pieces from, then to build, and from there to the checks.
// check.go lists them: roads, bytes, edits, dwz, splitdwarf, spelling and split compare ways to
// the same BTF; content, code, variables and annotations compare BTF with the DWARF (die, match),
// pahole with pahole's, and compilerbtf with that of gcc.
package random
