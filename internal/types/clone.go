package types

import "slices"

// Clone returns a copy in which every node and string has the same ID. It costs a copy of memory,
// where Import looks every node up.
func (g *Graph) Clone() *Graph {
	return &Graph{
		Nodes: slices.Clone(g.Nodes),
		Elems: slices.Clone(g.Elems),
		Strs: Strings{
			bytes: slices.Clone(g.Strs.bytes),
			ends:  slices.Clone(g.Strs.ends),
			hash:  slices.Clone(g.Strs.hash),
			index: slices.Clone(g.Strs.index),
		},
		index: slices.Clone(g.index),
	}
}
