// Package link makes the final BTF of a set of units: it decides what no unit can decide alone.
//
// The result is a pure function of the multiset of units, the facts of the linked ELF and the
// bases. Nothing here depends on the order of units, of their items or of the graph's nodes: every
// choice is by weight (how many units say so), and ties are broken by content.
//
// The steps, one file each:
//
//	listed.go     facts that go with the features
//	survey.go     what one walk over the shapes tells
//	symbols.go    what the symbols of the linked file say of names
//	select.go     units that the linker did not take are dropped
//	tags.go       which tags have several definitions, and which shapes can therefore mean several types
//	program.go    those shapes, compiled: how the type of each follows from the types of the tags in it
//	worlds.go     units with equal environments are one world; most worlds are like the commonest
//	phase.go      the types that each world's definitions are, as nodes of a graph
//	refine.go     the coarsest bisimulation of such a graph
//	company.go    what a tag means in a unit that only declares it: to those with the same uncommon definitions
//	choice.go     what it means otherwise
//	instance.go   the final types
//	functions.go  which functions are encoded, with which prototype
//	variables.go  which variables, in which section
//	kfuncs.go     declaration tags
//	reach.go      what the encoded things reach
//	split.go      types that the bases have already
//	join.go       definitions that a base has up to tags which it only declares
//	places.go     the types that are written, before they are in order
//	order.go      the canonical order
//	strings.go    the names, sorted
//	emit.go       the blob
//	trace.go      which unit holds which type of the result
package link
