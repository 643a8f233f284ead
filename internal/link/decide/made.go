package decide

import "github.com/rules-btf/rules_btf/internal/model/types"

// Decisions are the result of this package: which functions, variables, sections and declaration
// tags are encoded in addition to the units' types, and which are not.
//
// Everything that is encoded is a made type. For kfuncs, there are also made prototypes, pointers
// and type tags. A made type is a node like the nodes in a graph, but it has no hash, and its
// references are Types.
type Decisions struct {
	// Skipped are the linked file's functions and variables that are not encoded, sorted by name.
	Skipped []Skipped

	// encoded maps a FUNC or VAR that units hold to the made type that encodes it, or to 0.
	encoded map[Type]Type

	first Type // the number of the first made type
	nodes []types.Node
	elems []types.Elem
}

// Len is the number of made types.
func (d *Decisions) Len() int { return len(d.nodes) }

// Made calls yield with each made type.
func (d *Decisions) Made(yield func(Type, *types.Node) bool) {
	for i := range d.nodes {
		if !yield(d.first+Type(i), &d.nodes[i]) {
			return
		}
	}
}

// Encoded returns the made type that encodes k, a FUNC in BTF that was linked before, or 0 if k
// isn't encoded.
func (d *Decisions) Encoded(k Type) Type { return d.encoded[k] }

// At returns the made type k, or nil if k is a type of package resolve.
func (d *Decisions) At(k Type) *types.Node {
	if k < d.first {
		return nil
	}
	return &d.nodes[k-d.first]
}

// Elems returns the elements of a made type.
func (d *Decisions) Elems(n *types.Node) []types.Elem { return d.elems[n.First : n.First+n.Count] }

func (d *Decisions) make(n types.Node, elems ...types.Elem) Type {
	n.First, n.Count = uint32(len(d.elems)), uint32(len(elems))
	d.elems = append(d.elems, elems...)
	d.nodes = append(d.nodes, n)
	return d.first + Type(len(d.nodes)-1)
}
