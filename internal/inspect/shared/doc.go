// Package shared finds the types that repeat across the modules of a kernel, and makes split BTF of
// them: a base between the kernel's and the modules'.
//
//	module.go   the types of one module, and the hashes of their shapes
//	set.go      the shapes and the types of all modules
//	tags.go     tags that modules define in several ways, and what leads to them
//	content.go  which types of different modules have equal content
//	unclear.go  which types can be shared, and which are
//	write.go    the bytes
//	report.go   figures; text.go: as text
//	inbase.go   types that the base has already
//
// A shape is as in package types, except that a type of the base is its id. So the base is not
// read, and all modules must be based on the same one.
//
// Types of different modules are compared as the link compares those of units that are BTF: a
// forward declaration means the definition that other modules have, if there is only one
// (resolve.forwards). Then a shape that leads to no tag with several definitions is one type in all
// modules that have it. Partition refinement distinguishes the others.
package shared
