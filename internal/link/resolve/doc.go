// Package resolve finds out which type each shape is in each unit.
//
// A shape refers to tags by stubs. Where a tag has one definition, a stub is that definition, and a
// shape that leads to no other tags is one type everywhere: it is fixed. A tag is conflicted if the
// units define it in several ways, or in another way than the base. A shape that leads to a
// conflicted tag varies: it is a variant for each meaning of what it leads to. A kernel has 10 to
// 30 conflicted tags, and varying shapes are one in a thousand.
//
// The steps, one file each:
//
//	conflicts.go    which tags are conflicted, and which shapes therefore vary
//	slots.go        where the references of a varying shape end
//	environment.go  units that hold the same varying definitions share an environment
//	graph.go        the types of all environments as a graph
//	match.go        which of them the base has
//	forward.go      what a tag means in an environment that only declares it
//	alike.go        the same, for those with uncommon definitions: what environments like it say
//	settle.go       these steps in order
//	variant.go      the types that varying shapes are
//	types.go        the result, which nothing changes any more
//
// The words (slot, root, colour, alike, to lead to): docs/glossary.md, Link.
package resolve
