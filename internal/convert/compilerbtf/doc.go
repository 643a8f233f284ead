// Package compilerbtf turns the BTF that a compiler wrote (gcc -gbtf, clang -target bpf -g) into an
// object with the units, shapes and candidates that the DWARF of the same source would give. The
// .BTF section of an object file is one blob. Linkers concatenate the blobs of their inputs, so in
// the output of ld -r or ld each blob is a compilation unit.
//
// These files handle the differences between what compilers write, what kernels load, and what
// DWARF says:
//
//	normalise.go  types: array indexes, enums, and numbers that BTF can't express
//	unit.go       what a unit holds; which functions and variables are candidates
//	symbols.go    what the symbol table says about candidates
//	sources.go    which blob of a linked file belongs to which STT_FILE
//	size.go       sizes, and packed structs
//	linked.go     BTF that is already linked, which is refused
//
// BTF doesn't say how a function's parameters are passed. If no symbol has exactly the function's
// name, and only clones with a changed interface (foo.isra.0) have symbols, it is unknown whether
// the function's prototype still holds. Such a function is marked FuncUnlocated. DATASECs are
// dropped, because the link makes new ones from the facts; a DATASEC with a size is refused,
// because it shows that the BTF is already linked. docs/inputs.md lists the other differences.
package compilerbtf
