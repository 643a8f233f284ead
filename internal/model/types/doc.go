// Package types is the type graph that every verb shares: shapes, hash-consed by content.
//
// A shape is a type in which every reference to a tagged struct, union or enum is a stub: the kind
// of the tag and its name, nothing more. Everything else (typedefs, pointers, qualifiers, arrays,
// prototypes, anonymous aggregates) is followed deeply. A forward declaration and a definition are
// referred to by the same stub, so one struct seen through different headers has one shape. C
// leaves no cycle without a tag, so shapes form a directed acyclic graph, and equal content is
// equal Hash, on every machine.
//
// A stub says which tag, not which definition: that is decided by the unit in which the shape
// occurs, at link time. The exception is a pinned stub. A unit that itself holds several different
// definitions of one tag (block scope, or BTF that was linked before) says at each such stub which
// one it means.
//
// Two bounds hold for every graph: shapes nest MaxDepth deep at most, and no more typedefs,
// qualifiers and type tags than btf.MaxModifiers are in a row, by Graph.SkipModifiers. Packages
// convert and object refuse what is beyond, when they add it.
//
// Nodes are appended children first, so a single walk over Graph.Nodes sees every child before its
// parent; only the target of a pinned stub may come later.
package types
