package decide

import "github.com/rules-btf/rules_btf/internal/model/types"

// Decisions are what is encoded besides the types of the units, and what is not.
//
// What is encoded are made types: functions, variables, sections and declaration tags; for kfuncs
// also prototypes, pointers and type tags. A made type is a node as in a graph, but without a hash,
// and what it and its elements refer to are Types.
type Decisions struct {
	// Skipped are the functions and variables of the linked file that are not encoded, by name,
	// then reason.
	Skipped []Skipped

	first Type // the number of the first made type
	nodes []types.Node
	elems []types.Elem
}

// Len is how many made types there are.
func (d *Decisions) Len() int { return len(d.nodes) }

// Made calls yield with each made type.
func (d *Decisions) Made(yield func(Type, *types.Node) bool) {
	for i := range d.nodes {
		if !yield(d.first+Type(i), &d.nodes[i]) {
			return
		}
	}
}

// At returns the made type that k is, nil if it is one of package resolve.
func (d *Decisions) At(k Type) *types.Node {
	if k < d.first {
		return nil
	}
	return &d.nodes[k-d.first]
}

// Elems returns the elements of a made type.
func (d *Decisions) Elems(n *types.Node) []types.Elem { return d.elems[n.First : n.First+n.Count] }

// make adds a made type.
func (d *Decisions) make(n types.Node, elems ...types.Elem) Type {
	n.First, n.Count = uint32(len(d.elems)), uint32(len(elems))
	d.elems = append(d.elems, elems...)
	d.nodes = append(d.nodes, n)
	return d.first + Type(len(d.nodes)-1)
}
