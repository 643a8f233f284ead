// Package resolve finds, for each shape in each CU, the type that it resolves to: its canonical
// type.
//
// A shape refers to a struct, union or enum only by its tag, as an FWD does. If a tag has only one
// definition, each reference means that definition, and nothing is left to decide. This package is
// for the other tags. A kernel has 10 to 30 of them. As an example, take two CUs:
//
//	a.c                              b.c
//	struct opts { int level; };      struct opts { long flags; };
//	struct dev { struct opts *o; };  struct dev { struct opts *o; };
//	struct node { struct node *n; }; struct node { struct node *n; };
//
// Both CUs have the same shape of struct dev, but this one shape resolves to two types. The passes
// of [Resolve]:
//
//  1. findConflicts: opts is conflicted, which means that CUs define it in several ways, or
//     differently from the base BTF.
//  2. findRoles: struct dev and the pointer in it vary, because they lead to opts. struct node is
//     fixed: it is the same type everywhere. About one shape in a thousand varies.
//  3. findEnvironments: CUs that hold the same varying definitions and typedefs form one
//     environment, because each shape resolves to the same type in all of them. a.c and b.c are in
//     different environments.
//  4. settle: struct dev of a.c and struct dev of b.c become two nodes of a graph. The references
//     of each node lead to its own CU's struct opts. A node that equals a type in the base BTF
//     becomes that type; nodes that are equal at every depth become one type. This pass also
//     resolves FWDs: settle.go explains how, with a third CU that has only "struct opts;".
//  5. makeVariants makes each type with its references, and the anonymous types between named ones.
//     In the example, struct dev has two variants, so the result has two types of that name.
//
// The files, in this order:
//
//	conflicts.go    passes 1 and 2
//	slots.go        slots: where the references of a varying shape end
//	environment.go  pass 3
//	settle.go       pass 4
//	graph.go        the types of all environments as a graph
//	match.go        which of these types the base BTF has
//	forward.go      what an FWD means
//	peers.go        the same, for environments with uncommon definitions
//	variant.go      pass 5
//	types.go        the result, which nothing changes any more
//
// docs/glossary.md (section Link) explains the terms of this package and what libbpf calls them.
package resolve
