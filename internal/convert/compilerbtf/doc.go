// Package compilerbtf turns the BTF that a compiler wrote (gcc -gbtf, clang -target bpf -g) into an
// object with the units, shapes and candidates that the DWARF of the same source gives. The .BTF of
// an object file is one blob. Linkers concatenate those of their inputs, so in what ld -r or ld
// made each blob is a compilation unit.
//
// What a compiler writes differs from what a kernel loads, and from what DWARF says:
//
//	normalise.go  types: the index types of arrays, enums, numbers that BTF has no word for
//	unit.go       what a unit holds; which functions and variables are candidates
//	symbols.go    what the symbol table says of them
//	sources.go    which blob of a linked file belongs to which STT_FILE
//	size.go       sizes, and packed structs
//	linked.go     BTF that was linked before, which is refused
//
// BTF doesn't say where the parameters of a function are. So a function that has no symbol of its
// own name, but only clones with a changed interface (foo.isra.0), is FuncUnlocated: whether its
// prototype still holds is not known. docs/inputs.md lists all that BTF can't tell.
package compilerbtf
