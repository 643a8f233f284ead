// Package base looks up what a link needs to know about the BTF that the link's result is based on.
//
// It looks things up in indices, one for each BTF of a chain: files written by btfdedup index, or
// the same bytes made in memory from BTF. An index file is mapped into memory, and a lookup reads
// only a few cache lines of it.
package base

import (
	"encoding/binary"
	"iter"
	"slices"

	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Base is a chain of base BTFs, from the view of split BTF that is based on it: type ids and string
// offsets are the ones by which the split BTF refers to the chain's types and strings. Several
// threads may use it.
//
// The shape of a type is its content with a stub in place of each tag that it refers to. The stub
// doesn't depend on which definition of the tag is meant (types.Graph.Unpinned).
type Base interface {
	// Order is the byte order of the BTF.
	Order() binary.ByteOrder
	// Machine is the e_machine of the ELF files that the BTF was read from, or 0 if it is unknown.
	Machine() uint16
	// Ends returns the first type id and the first string offset that belong to the split BTF.
	Ends() (id, offset uint32)
	// Find returns the smallest id of a type with this shape, or 0 if there is none. Functions,
	// variables, sections and declaration tags are not found: they are never taken from a base.
	Find(shape types.Hash) uint32
	// All returns the ids of the types with this shape, ascending.
	All(shape types.Hash) iter.Seq[uint32]
	// Tag returns the smallest id of a definition and of a forward declaration of the tag with this
	// stub (each 0 if there is none), and the total number of both.
	Tag(stub types.Hash) (definition, declaration uint32, count int)
	// Refs appends to the list into the types that a type refers to, in the order of types.Graph.Refs.
	// It leaves out types that neither are tags nor lead to one (types.Graph.Leads).
	Refs(id uint32, into []uint32) []uint32
	// Declares reports whether a type is a forward declaration, or an enum without enumerators.
	Declares(id uint32) bool
	// HasDeclTag reports whether the type with the id target, which isn't a function or variable,
	// has a declaration tag with this value. component is 1 plus the index of the tagged member or
	// parameter, or 0 for the type itself.
	HasDeclTag(value []byte, target, component uint32, flag bool) bool
	// String returns the smallest offset of a string, or 0 if the chain does not have it.
	String(s []byte) uint32
	// Layers returns, for each BTF of the chain, the Digest of its types' shapes.
	Layers() []types.Hash
}

// Digest is the sum of the hashes of shapes, each shape counted once.
func Digest(shapes []types.Hash) types.Hash {
	var sum, last types.Hash
	shapes = slices.Clone(shapes)
	slices.SortFunc(shapes, types.Hash.Cmp)
	for _, h := range shapes {
		if h != last {
			sum = sum.Plus(h)
		}
		last = h
	}
	return sum
}

// IDHash returns the content hash of a type of the base. This hash depends only on the type's id.
func IDHash(id uint32) types.Hash {
	return types.Start(types.KindVoid, id, 1, types.Hash{}, types.Hash{}).Sum(true)
}
