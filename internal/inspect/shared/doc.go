// Package shared finds the types that several modules of a kernel repeat, and makes split BTF from
// them: an additional base between the BTF of the kernel and the BTF of the modules.
//
//	module.go   the types of one module, and the hashes of their shapes
//	set.go      the shapes and the types of all modules
//	tags.go     tags with several definitions, and the shapes that lead to them
//	content.go  which types of different modules have equal content
//	unclear.go  which types can be shared, and which ones are
//	write.go    the bytes of the shared base
//	report.go   the figures of a report; text.go writes them as text
//
// Shapes are those of package types, except that types of the base are represented by their ids. So
// shapes don't depend on what is in the base, but all modules must have the same base.
//
// Types of different modules are compared just as the link compares types from BTF inputs: if a tag
// has only one definition, forward declarations of it mean that definition (resolve.forwards). Then
// a shape that leads to no tag with several definitions is the same type in all modules that have
// it. Types of the other shapes are distinguished by partition refinement.
package shared
