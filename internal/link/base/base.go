// Package base answers a link's questions about the BTF on which the link's result is based.
//
// Each BTF of a chain has an index: a file written by btfdedup index, or the same bytes made in
// memory from BTF. An index file is mapped into memory, and a lookup reads only a few cache lines.
package base

import (
	"iter"
	"math/bits"
	"slices"

	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Base is a chain of base BTFs, as seen by split BTF that is based on the chain: type ids and
// string offsets are those that the split BTF uses for the chain's types and strings. Several
// threads may use a Base.
//
// The shape of a type is its content with a stub in place of each tag that it refers to. The stub
// doesn't depend on which definition of the tag is meant (types.Graph.Unpinned).
// Rule: split BTF: what the link looks up in the base.
type Base interface {
	// Target is the target of the BTF, as far as it is known; the byte order always is.
	Target() object.Target
	// Ends returns the first type id and the first string offset that belong to the split BTF.
	Ends() (id, offset uint32)
	// Find returns the smallest id of a type with this shape, or 0 if there is none. Functions,
	// variables, sections and declaration tags are not found: they are never taken from a base.
	Find(shape types.Hash) uint32
	// All returns the ids of the types with this shape, ascending.
	All(shape types.Hash) iter.Seq[uint32]
	// Tag returns the smallest ids of a definition and of a forward declaration of the tag with this
	// stub (each 0 if there is none), and how many definitions and declarations there are in all.
	Tag(stub types.Hash) (definition, declaration uint32, count int)
	// Refs appends the ids of the types that a type refers to, in the order of types.Graph.Refs. It
	// leaves out types that neither are tags nor lead to one (types.Graph.Leads).
	Refs(id uint32, into []uint32) []uint32
	// Declares reports whether a type is a forward declaration, or an enum without enumerators.
	Declares(id uint32) bool
	// HasDeclTag reports whether the type with the id target has a declaration tag with this value.
	// The type isn't a function or variable. The parameter component is 1 plus the index of the
	// tagged member or parameter, or 0 for the type itself.
	HasDeclTag(value []byte, target, component uint32, flag bool) bool
	// String returns the smallest offset of a string, or 0 if the chain does not have it.
	String(s []byte) uint32
	// Layers returns, for each BTF of the chain, the Digest of its types' shapes.
	Layers() []types.Hash
}

// Digest returns the sum of the hashes of shapes. A repeated shape counts once.
func Digest(shapes []types.Hash) types.Hash {
	var sum, last types.Hash
	size := bits.Len(uint(len(shapes) / 4)) // of a bucket number, in bits
	sorted, begin := types.Buckets(shapes, 1<<size, func(h types.Hash) uint32 {
		return uint32(h.A >> (64 - size))
	})
	for i := range begin[1:] {
		bucket := sorted[begin[i]:begin[i+1]]
		slices.SortFunc(bucket, types.Hash.Cmp)
		for _, h := range bucket {
			if h != last {
				sum = sum.Plus(h)
			}
			last = h
		}
	}
	return sum
}

// IDHash returns the content hash of a type in the base. This hash depends only on the type's id.
func IDHash(id uint32) types.Hash {
	return types.Start(types.KindVoid, id, 1, types.Hash{}, types.Hash{}).Sum(true)
}
