// Package link makes the final BTF of a set of CUs: it decides what no CU can decide alone.
//
// Take two CUs of one kernel module, which is split BTF on the BTF of vmlinux, the base BTF:
//
//	a.c                                   b.c
//	struct opts { int level; };           struct opts;
//	struct dev { struct opts *o; };       struct dev { struct opts *o; };
//	int start(struct dev *d) { … }        static int start(struct dev *d) { … }
//	u64 hits;                             u64 hits __attribute__((weak));
//
// Each CU is a unit (package object): a list of shapes, types in which tags are names. The stages
// of [Object] are packages, each of which reads what those before it have made:
//
//  1. survey.New lists what the shapes and the units are.
//  2. symbols.New and Select look up the names in the symbol table of the module, and drop units of
//     which nothing was linked.
//  3. resolve.Resolve says which type each shape is in each unit: struct opts of b.c is the
//     definition of a.c; and a type that vmlinux has (u64, say) is that of the base BTF.
//  4. decide.Decide chooses the functions and variables that are encoded: start may be ambiguous,
//     hits belongs to a.c.
//  5. write.BTF keeps what is needed of the types, puts it in canonical order and writes the bytes.
//
// Package base is what split BTF is based on, as the link asks it.
//
// The result is a pure function of the multiset of units, the facts of the linked ELF and the
// bases. Nothing depends on the order of units, of their items or of the graph's nodes: every
// choice is by weight (how many units say so), and ties are broken by content.
package link
