// Package types is the graph of shapes, hash-consed by content.
//
// A shape is a type in which every reference to a tagged struct, union or enum is a stub: the kind
// and name of the tag. Everything else (typedefs, pointers, qualifiers, arrays, prototypes,
// anonymous aggregates) is part of the shape. A reference to a forward declaration and one to a
// definition are the same stub, so a struct has the same shape in CUs that include different
// headers. In C, every cycle goes through a tag, so shapes form a directed acyclic graph. Equal
// content has the same Hash on every machine.
//
// The link decides which definition a stub resolves to in each unit. Pinned stubs are the
// exception: they identify the definition that they resolve to. A unit needs them if it has several
// different definitions of a tag. That is possible with definitions in block scopes, and in BTF
// that is already linked.
//
// Two bounds hold for every graph: shapes nest at most MaxDepth deep, and a chain of typedefs,
// qualifiers and type tags has at most btf.MaxModifiers of these. Packages convert and object
// enforce both.
//
// Nodes are appended children first, so a walk over Graph.Nodes sees every child before its parent.
// Only the target of a pinned stub may come later.
package types
