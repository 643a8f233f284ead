// Package minimal makes minimal BTF: only those types and members of a kernel's BTF that certain
// programs need, so that each of their relocations is resolved as in the whole BTF.
//
//	mark.go     finding the types and members that programs need
//	structops.go  the same for struct_ops maps
//	minimal.go  copying them, and linking the copy into its canonical order
//	order.go    putting types of one name into the kernel's order
//	same.go     keeping more, where a relocation would match only the part of a type that is left
//
// What a relocation keeps is what "bpftool gen min_core_btf" keeps:
//
//	a field        the members on the way to it, with their types; a pointer points to void
//	a type         the type, and the types that it refers to; structs have no members
//	type_matches   all members, but none of structs that pointers lead to
//	an enumerator  the whole enum
//
// If a relocation would match what is left of a type, but doesn't match the whole type, then the
// whole type is kept.
//
// Unlike bpftool, this package also keeps types of modules, type tags, and, if a name has
// several types, all candidates that agree. If Options.Hooks is set, it keeps what programs name
// (functions, kfuncs, variables, types) as described in the row "a type". If Options.Flat is
// set, declaration tags say which of them are from the module that a program names. For a 32-bit
// kernel, it keeps a base type "long", from whose size readers infer the pointer size.
package minimal
