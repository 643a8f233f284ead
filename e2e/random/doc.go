// Package random writes random C and C++ programs, builds them, and tries to break what the tools
// promise: the same bytes whatever the way to them, and BTF that says what the DWARF says.
//
// A program follows from its seed alone. It has a few units that define, declare and use a few tags
// and typedef names in scopes of all kinds, so names with several definitions are the rule.
//
// Data flows from generate (over form, scope and ctype) to source, a tree of text that shrink can
// take pieces from, then to build, and from there to the checks.
package random
