// Package types is the graph of shapes, hash-consed by content.
//
// A shape is a type in which every reference to a tagged struct, union or enum is a stub: the kind
// and name of the tag. All else (typedefs, pointers, qualifiers, arrays, prototypes, anonymous
// aggregates) is followed deeply. Forward declarations and definitions are referred to by the same
// stub, so one struct seen through different headers has one shape. C has no cycle without a tag,
// so shapes form a directed acyclic graph. Equal content has an equal Hash on every machine.
//
// The link decides which definition a stub means in each unit. The exception is a pinned stub, in a
// unit that holds several different definitions of a tag (in block scope, or as BTF that was linked
// before): it names the definition that it means.
//
// Two bounds hold for every graph: shapes nest at most MaxDepth deep, and at most btf.MaxModifiers
// typedefs, qualifiers and type tags follow each other. Packages convert and object refuse others.
//
// Nodes are appended children first, so a walk over Graph.Nodes sees every child before its parent.
// Only the target of a pinned stub may come later.
package types
