// Package convert turns the DWARF of one ELF file into an object. The object has the shapes of the
// file's types, and for each unit, its items and the function and variable candidates.
//
// # The problem
//
// Each compilation unit (CU) describes all types that it uses, so the types of common headers are
// repeated thousands of times. An object contains each type once, and for each CU a list of what
// that CU declares. The shapes and units below are the result for the two CUs in the documentation
// of package dwarf (example_test.go). A struct refers to another only by its name (a stub).
//
//	1  int                                              a.c  5 6
//	2  stub of struct list                              b.c  8 5 10
//	3  pointer → 2
//	4  prototype of first: 3 → 1
//	5  struct list, next: 3, length: 1
//	6  function first → 4
//	7  long int
//	8  typedef total → 7
//	9  prototype of add: 3
//	10 function add → 9
//
// More than 99% of what a kernel's CUs describe is such repetition. So deduplication isn't a
// separate step after reading: a type that is already known isn't even translated to BTF terms.
//
// # The passes
//
// File lists the units and distributes them over threads (work.go), each of which has a converter.
// A thread keeps the units of one LTO object loaded, because they refer to each other (group.go).
// The threads share a store (store.go): the graph of shapes, and two tables that map fingerprints
// to types. For each unit, converter.convert runs these passes (unit.go):
//
//	load            read the unit's bytes and abbreviations
//	sweep           make the fingerprints of the unit's types (package dwarf)
//	walk            visit the unit's definitions, functions, variables and imports (walk.go)
//	takeImports     add what dwz moved into partial units (foreign.go)
//	reach           add what the unit's references lead to in other units (reach.go)
//	walkOrphans     add the type units to which nothing refers (orphans.go)
//	addCandidates   add the unit's functions to the graph (candidate.go)
//	readPinned      read the unit again with pins, if a tag has several definitions (pins.go)
//	end             add the unit's contents to the result (contents.go)
//
// A definition that walk visits, or a type that another type refers to, goes through these steps
// until it turns out to be known:
//
//	fingerprint     hash its bytes; done if the hash is known, as for b.c's list (definitions.go)
//	describe        express it in terms of BTF; its references still lead to entries (describe.go)
//	hash            hash its references, then its content; done if the graph has the hash (hash.go)
//	node            add it to the graph (node.go)
//
// In the first or only unit, hardly any type is known yet. So that unit's types are described and
// added without the other steps (see the type repeats).
//
// Functions (function.go) are matched with the symbols at their entry points (symbols.go), and
// judged by the locations of their parameters (parameters.go, package params).
//
// # What is kept
//
// The object keeps only what is reachable from named types, anonymous enums (whose enumerators have
// names), function candidates and encoded variables. Base types, pointers and arrays that only
// local variables use leave no trace. So an edit of a function's body changes the object only if it
// adds a named type or an inline function, or makes the compiler pass a function's parameters
// differently, clone the function (.constprop, .isra) or inline it everywhere.
//
// The object contains no address, line or producer, and only the base name of the source file's
// path.
// Rule: BTF object: what it leaves out, so that edits of function bodies don't change it.
package convert
