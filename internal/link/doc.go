// Package link makes the final BTF for a set of CUs. It decides what can't be decided from one CU
// alone.
//
// As an example, take two CUs of a kernel module. The module's BTF is split BTF; its base BTF is
// the BTF of vmlinux.
//
//	a.c                                   b.c
//	struct opts { int level; };           struct opts;
//	struct dev { struct opts *o; };       struct dev { struct opts *o; };
//	int start(struct dev *d) { … }        static int start(struct dev *d) { … }
//	u64 hits;                             u64 hits __attribute__((weak));
//
// Each CU is a unit (package object): a list of shapes, which are types that refer to tags only by
// name. Each stage of [WithUnits] is a package that reads the results of the earlier stages:
//
//  1. survey.New makes lists of the shapes and the units.
//  2. symbols.New and Select look up names among the module's symbols, and drop units that aren't
//     linked.
//  3. resolve.Resolve finds the type that each shape becomes in each unit: in b.c, struct opts
//     means the definition in a.c; u64, which vmlinux also has, is the base BTF's type.
//  4. decide.Decide chooses the functions and variables to encode: start may be ambiguous; hits is
//     encoded once, although two CUs define it.
//  5. write.BTF keeps the types that are needed, orders them canonically and writes the bytes.
//
// Package base answers the link's questions about the base BTF.
//
// The result is a pure function of the multiset of units, the facts about the linked file and the
// bases. It doesn't depend on the order of units, items or graph nodes: every choice is by weight
// (how many units agree), and ties are broken by content.
package link
