// Package convert turns the DWARF of one ELF file into an object: the shapes of its types, and for
// each unit its environment and its function and variable candidates.
//
// # The problem
//
// Each compilation unit (CU) describes all types that it uses, so the types of common headers are
// there thousands of times. An object has each of them once, and of each CU a list of what it
// holds. Of the two CUs in the documentation of package dwarf, which share struct list, the
// example (example_test.go) makes these shapes, in which a struct refers to another by its name only (a stub), and
// these units:
//
//	1  stub of struct list                              a.c  4 6
//	2  pointer → 1                                      b.c  8 4 10
//	3  int
//	4  struct list, next: 2, length: 3
//	5  prototype of first: 2 → 3
//	6  function first → 5
//	7  long int
//	8  typedef total → 7
//	9  prototype of add: 2
//	10 function add → 9
//
// More than 99% of what a kernel's CUs describe are such repeats. So deduplication is not a step
// after reading: what is known already is not read at all.
//
// # The passes
//
// File lists the units and deals them to threads (work.go), each of which has a converter. They
// share a store (store.go): the graph of shapes, and two tables of what fingerprints mean. For each
// unit, converter.convert runs these (unit.go):
//
//	load            the unit's bytes and abbreviations
//	walk            its entries: definitions, functions, variables, imports (walk.go)
//	takeImports     what dwz moved into partial units (foreign.go)
//	reach           what references lead to in other units (foreign.go)
//	walkOrphans     type units that nothing refers to (orphans.go)
//	addCandidates   its functions to the graph (function.go)
//	readPinned      all again, if a tag has several definitions: with pins (pins.go)
//	end             its environment to the result (environment.go)
//
// A definition that walk comes to, or a type that another refers to, goes as far as it must:
//
//	fingerprint     of the bytes, in b.c that of struct list is known: done (definitions.go)
//	describe        the entry in terms of BTF, its references still being entries (describe.go)
//	hash            by content, of what it refers to first; if the graph has it: done (hash.go)
//	node            the graph gets it (node.go)
//
// In the first unit, and where there is only one, hardly any type is known, and it is described and
// added at once (repeats).
//
// Functions (function.go) are named by the symbols at their entry (symbols.go), and judged by what
// the locations of their parameters say (parameters.go, package params).
//
// # What is kept
//
// Only what is reachable from named types, anonymous enums (their enumerators are names too),
// function candidates and encoded variables is kept. Base types, pointers and arrays that only
// locals use leave no trace, so an edit of a function's body that brings in no new named type
// doesn't show.
//
// No address, line, path or producer reaches the object.
package convert
