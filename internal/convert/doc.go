// Package convert turns the DWARF of one ELF file into an object: the shapes of its types, and for
// each unit its environment and its function and variable candidates.
//
// It deduplicates while reading. Each type entry is described once a unit (describe.go) and hashed
// (hash.go); only a type that is new to the graph is built (node.go). On a kernel more than 99%
// are repeats.
//
// Only what is reachable from named types, anonymous enums (their enumerators are names too),
// function candidates and encoded variables is kept. Base types, pointers and arrays that only
// locals use leave no trace, so an edit of a function's body that brings in no new named type
// doesn't show.
//
// No address, line, path or producer reaches the object.
package convert
