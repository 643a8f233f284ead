// Package shared finds the types that repeat across the modules of a kernel, and makes split BTF of
// them: a base between the kernel's and the modules'.
//
//	module.go    the types of one module, each with its shape
//	shape.go     shapes, type records
//	read.go      files
//	set.go       the shapes and the types of all modules
//	tags.go      tags that modules define in several ways, and what leads to them
//	content.go   which types of different modules have equal content
//	unclear.go   types that can't be shared
//	choose.go    what is shared
//	write.go     the bytes
//	report.go    figures; text.go: as text
//	inbase.go    types that the base has already
//	samename.go  tags that the base has too, or that one module defines several times
//	users.go     who refers to whom in a graph
//
// A shape is as in package types, but for what a type of the base is in it: its id. So the base is
// not looked at, and modules must be based on the same one.
//
// Types of different modules are compared as the link compares those of units that are BTF: a
// forward declaration means the definition that other modules have, if they have only one
// (resolve.forwards). Then a shape that leads to no tag with several definitions is one type in all
// modules that have it. The others are distinguished by partition refinement.
package shared
