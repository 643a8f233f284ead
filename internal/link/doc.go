// Package link makes the final BTF of a set of units: it decides what no unit can decide alone.
//
// The result is a pure function of the multiset of units, the facts of the linked ELF and the
// bases. Nothing depends on the order of units, of their items or of the graph's nodes: every
// choice is by weight (how many units say so), and ties are broken by content.
//
// Its stages are packages, each of which reads what the ones before it have made:
//
//	base     what split BTF is based on, as the link asks it
//	survey   lists of what the shapes and the units are
//	symbols  what the linked file's symbols say of names, and which units are linked
//	resolve  which type each shape is in each unit
//	decide   functions, variables, declaration tags
//	write    what is written, in which order, and the bytes
package link
