// Package shared finds the types that repeat across the modules of a kernel, and makes split BTF of
// them: a base between the kernel's and the modules'.
//
//	module.go    the types of one module, each with its shape
//	set.go       the shapes and the types of all modules
//	tags.go      tags that modules define in several ways, and what leads to them
//	content.go   which types of different modules have equal content
//	choose.go    what is shared
//	write.go     the bytes
//	report.go    figures
//	inbase.go    types that the base has already
//
// A shape is as in package types, but for what a type of the base is in it: its id. So the base is
// not looked at, and modules must stand on the same one.
//
// Types of different modules are compared as the link compares those of units that are BTF: a
// forward declaration means the definition that other modules have, if they have only one
// (resolve.forwards). Then a shape that leads to no tag with several definitions is one type in all
// modules that have it. The others are told apart by partition refinement.
package shared
