package refine

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Rounds of Colours are fast if few are needed: a kernel needs about 30. If there were minRounds
// rounds, and they examined minWork nodes and references, the graph has long chains or rings, and
// deep takes over.
const (
	minRounds = 1 << 7
	minWork   = 1 << 22
)

// deep does the work of Colours in O(references × log² nodes), however long the chains in the graph
// are. Its colours differ from those after rounds, but are equal for the same nodes.
//
// It makes one node of all equal nodes. In the result, no nodes are equal, so Classes gives each
// its own class. The number of the class depends only on content, because the numbers of the
// labels do. So a colour is a hash of this number and of the whole graph.
func (g *Graph) deep() []types.Hash {
	labels := g.wholeLabels()
	first, refs := make([]uint32, 1, len(g.First)), make([]uint32, 0, len(g.Refs))
	for i := range labels {
		for _, r := range g.Refs[g.First[i]:g.First[i+1]] {
			if r >= 0 {
				refs = append(refs, uint32(r))
			}
		}
		first = append(first, uint32(len(refs)))
	}
	ranks := rank(labels)
	class, count := Classes(ranks, first, refs)

	one := make([]uint32, count) // by class: a node
	for i, c := range class {
		one[c] = uint32(i)
	}
	small := struct{ ranks, first, refs []uint32 }{first: []uint32{0}}
	for _, i := range one {
		small.ranks = append(small.ranks, ranks[i])
		for _, r := range refs[first[i]:first[i+1]] {
			small.refs = append(small.refs, class[r])
		}
		small.first = append(small.first, uint32(len(small.refs)))
	}
	number, _ := Classes(small.ranks, small.first, small.refs)

	at := make([]uint32, count) // by number: the class
	for c, n := range number {
		at[n] = uint32(c)
	}
	whole := types.Start(types.KindVoid, 0, 0, types.Hash{}, types.Hash{})
	for _, c := range at {
		whole.Elem(labels[one[c]], types.Hash{}, 0)
		for _, r := range small.refs[small.first[c]:small.first[c+1]] {
			whole.Elem(types.Hash{}, types.Hash{}, uint64(number[r]))
		}
	}
	sum := whole.Sum(true)
	colours := make([]types.Hash, len(labels))
	for i, c := range class {
		colours[i] = types.Start(types.KindVoid, number[c], 0, sum, types.Hash{}).Sum(true)
	}
	return colours
}

// wholeLabels returns a hash of all that is known about each node, except to which nodes of the
// graph it refers.
func (g *Graph) wholeLabels() []types.Hash {
	labels := make([]types.Hash, len(g.Labels))
	for i, label := range g.Labels {
		var initial types.Hash
		if g.Initial != nil {
			initial = g.Initial[i]
		}
		h := types.Start(types.KindVoid, 0, 0, label, initial)
		for _, r := range g.Refs[g.First[i]:g.First[i+1]] {
			if r >= 0 {
				h.Elem(types.Hash{}, types.Hash{}, 1)
			} else {
				h.Elem(types.Hash{}, g.Outside[^r], 0)
			}
		}
		labels[i] = h.Sum(false)
	}
	return labels
}

// rank returns, for each hash, its index among the different hashes, in order.
func rank(hashes []types.Hash) []uint32 {
	sorted := slices.Clone(hashes)
	slices.SortFunc(sorted, types.Hash.Cmp)
	sorted = slices.Compact(sorted)
	ranks := make([]uint32, len(hashes))
	for i, h := range hashes {
		at, _ := slices.BinarySearchFunc(sorted, h, types.Hash.Cmp)
		ranks[i] = uint32(at)
	}
	return ranks
}
