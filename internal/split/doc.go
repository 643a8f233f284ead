// Package split writes the DWARF of a large ELF file as several small ones, its shards, from
// which "btfgen object" makes what it would make of the file: merged or linked, the objects of
// all shards are the object of the file.
//
// A machine that converts one N-th of a kernel that is linked as a whole needs one N-th of its
// types, not 400 MB of code, lines and locations. And a cache that knows the shards by their
// digests need not convert those again in which nothing has changed. So a shard is a function of
// its own units, and of what these declare:
//
//   - Units are assigned by a hash of their names (names.go), with nothing of the directory in
//     which the program was built, and stand in the shard in the order of their names. That is
//     why an edit moves no unit from shard to shard.
//   - The types of units in C are in the shard once, in a partial unit, and each unit lists which
//     of them it holds (common.go, share.go).
//   - Of a unit, that is copied which the conversion looks at (unit.go): definitions, functions
//     with their parameters, variables with an address, and what these refer to. Bodies of
//     functions are left out, and so are types that only bodies use. Lines are gone, and of the
//     names of directories and of the compiler's options no more is left than what counts: the
//     file's base name, and whether the compiler is clang.
//   - Places are a shard's own. Entries refer to each other by offsets in the shard. Strings are
//     in a table of their own, in the order in which units first use them, and abbreviations
//     likewise. Forms are chosen by the values, so a unit is spelled the same whichever compiler
//     spelled it how, before and after the linker or dwz wrote it. All is DWARF 5, 32-bit.
//   - Addresses are counted (symbols.go): the n-th function with code is at the n-th word of
//     .text, with the symbols that it has in the file. Of variables the address only tells the
//     section.
//   - The locations of a parameter are reduced to what internal/params reads at a function's
//     entry: nearly always an expression of one operation.
//   - What units refer to in others is copied to each shard that needs it (foreign.go): partial
//     units of dwz as a whole if they are imported; of other units, as link-time optimization has
//     them, and of type units the entries that are referred to, in a partial unit.
//   - A type unit to which nothing refers is a unit of its own, as it is for the conversion; in a
//     file of one compilation unit it belongs to that, which imports it (plan.go, addOrphans).
//
// A shard is an ELF file like any other, without segments, and readelf shows it. What is peculiar
// to shards is the list of what a unit holds of the partial unit with the types, which the
// conversion reads (convert, listed.go). A shard without units is a relocatable file without
// sections of DWARF, as an assembler makes them. The facts of a link (internal/facts) are not in
// shards; they are read from the linked file.
//
// # What else the rules follow
//
// The walk over a unit is that of internal/convert (walk.go, function.go, variable.go): what
// makes an item of the unit's environment there stands in the first part of the unit here, in the
// same order, but not nested in functions. What is only referred to follows it. A definition
// among that which the walk would not have found, because it stands in an inlined call, is put
// into an inlined call again.
//
// The conversion also counts types that a unit reaches in other units, even from the bodies of its
// functions (convert's reach). Each of these references that is not copied stands in the copy as a
// variable without an address that has the type.
package split
