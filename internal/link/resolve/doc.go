// Package resolve finds out which type each shape is in each CU: its canonical type.
//
// A shape refers to a struct, union or enum by its tag alone, as an FWD does. If a tag has one
// definition, the reference means that, and nothing is left to decide. This package is for the
// other tags, 10 to 30 in a kernel. Two CUs for an example:
//
//	a.c                              b.c
//	struct opts { int level; };      struct opts { long flags; };
//	struct dev { struct opts *o; };  struct dev { struct opts *o; };
//	struct node { struct node *n; }; struct node { struct node *n; };
//
// Both CUs have the same shape struct dev, but it is two types. The passes of [Resolve]:
//
//  1. findConflicts: opts is conflicted: CUs define it in several ways, or in another way than the
//     base BTF.
//  2. findRoles: struct dev and the pointer in it vary, since they lead to opts. struct node is
//     fixed: one type everywhere. Varying shapes are one in a thousand.
//  3. findEnvironments: CUs that hold the same varying definitions and typedefs are one
//     environment, for they mean the same by everything. a.c and b.c are two.
//  4. settle: struct dev of a.c and struct dev of b.c become two nodes of a graph, whose references
//     lead to the struct opts of each. A node that equals a type of the base BTF is that type;
//     nodes that are equal, however deep one looks, are one type. FWDs are resolved on the way:
//     settle.go has the example of a third CU with only "struct opts;".
//  5. makeVariants: for each of the types its references, the anonymous ones in between included.
//     So struct dev has two variants here, and the result two types of that name.
//
// The files, in this order:
//
//	conflicts.go    passes 1 and 2
//	slots.go        slots: where the references of a varying shape end
//	environment.go  pass 3
//	settle.go       pass 4
//	graph.go        the types of all environments as a graph
//	match.go        which of them the base BTF has
//	forward.go      what an FWD means
//	peers.go        the same, for environments with uncommon definitions
//	variant.go      pass 5
//	types.go        the result, which nothing changes any more
//
// The words of this package beside those of libbpf: docs/glossary.md, Link.
package resolve
