// Package base answers what a link of split BTF asks of the BTF that it is based on.
//
// The answers are in indices, one for each BTF of a chain: files that btfdedup index makes, or the
// same bytes made in memory of BTF that was read whole. An index is mapped into memory, and a
// question reads a few cache lines of it.
package base

import (
	"encoding/binary"
	"iter"
	"slices"

	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Base is a chain of base BTFs, seen from the split BTF that is to be based on it. Ids and string
// offsets are those that the split BTF uses for what the chain has. It may be asked by several
// threads.
//
// The shape of a type is its content with a stub in place of each tag that it refers to, whatever
// definition of the tag is meant (types.Graph.Unpinned).
type Base interface {
	// Order is the byte order of the BTF.
	Order() binary.ByteOrder
	// Machine is the e_machine of the ELF files that the BTF was read from, 0 if none says.
	Machine() uint16
	// Ends returns the first type id and the first string offset that are the split BTF's own.
	Ends() (id, offset uint32)
	// Find returns the smallest id of a type with this shape, 0 if there is none. Functions,
	// variables, sections and declaration tags are not found: they are never taken from a base.
	Find(shape types.Hash) uint32
	// All returns the ids of the types with this shape, ascending.
	All(shape types.Hash) iter.Seq[uint32]
	// Tag returns the smallest id of a definition and that of a forward declaration of the tag that
	// has this stub, 0 where there is none, and how many there are of both.
	Tag(stub types.Hash) (definition, declaration uint32, count int)
	// Refs appends the types that id refers to, in the order of types.Graph.Refs, but only those
	// that are tags or reach a tag through types without one (types.Graph.Leads).
	Refs(id uint32, into []uint32) []uint32
	// Declares reports whether a type is a forward declaration, or an enum without enumerators.
	Declares(id uint32) bool
	// HasDeclTag reports whether a declaration tag with this value is on the type target, which is no
	// function or variable; component is the index of the member or parameter that it is on plus 1,
	// 0 for the type itself.
	HasDeclTag(value []byte, target, component uint32, flag bool) bool
	// String returns the smallest offset of a string, 0 if the chain does not have it.
	String(s []byte) uint32
	// Layers returns a digest of each BTF of the chain: the sum of the shapes' hashes of all its
	// types, each shape counted once.
	Layers() []types.Hash
}

// Digest is the sum of the shapes' hashes of some types, each shape counted once.
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

// IDHash is the content hash that stands for a type of the base, whatever its content.
func IDHash(id uint32) types.Hash {
	return types.Start(types.KindVoid, id, 1, types.Hash{}, types.Hash{}).Sum(true)
}
