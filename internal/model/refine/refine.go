// Package refine finds out which nodes of a graph with cycles have equal content. It computes the
// coarsest bisimulation, by partition refinement.
package refine

import (
	"errors"
	"math/bits"
	"slices"

	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Graph is a graph of labelled nodes, numbered from 0.
type Graph struct {
	// Labels has, for each node, a hash of the node's content without its references.
	Labels []types.Hash
	// Initial has, for each node, the colour before the first round. If Initial is nil, each node
	// begins with its label. If two nodes have equal labels, and their references have equal initial
	// colours, the nodes themselves must have equal initial colours.
	Initial []types.Hash
	// First has one more element than there are nodes. The references of node i, in order, are
	// Refs[First[i]:First[i+1]].
	First []uint32
	// Refs are numbers of nodes, or ^k for Outside[k].
	Refs []int32
	// Outside are the colours of types outside of the graph. They never change.
	Outside []types.Hash
}

// ErrBudget says that a refinement takes more work than the caller allows.
var ErrBudget = errors.New("the types refer to each other too deeply to be distinguished")

// Colours returns a hash for each node: its colour. Two nodes have equal colours if and only if
// they have equal labels, and their references, in order, lead to equal colours (of nodes, or from
// Outside). Colours depend only on content, not on the numbers of the nodes. But colours of
// different graphs can't be compared, because a colour includes references only up to a depth: the
// number of rounds that the whole graph took. If that would be too many, see deep.
// Rule: equal types in cycles: partition refinement. Source: libbpf btf_dedup_is_equiv with
// hypot_map.
func (g *Graph) Colours() []types.Hash {
	budget := max(minRounds*(len(g.Labels)+len(g.Refs)), minWork)
	colours, err := g.ColoursWithin(&budget)
	if err != nil {
		return g.deep()
	}
	return colours
}

// ColoursWithin is Colours with a budget: the number of nodes and references that it may examine.
// It subtracts the work from the budget. If the budget is too small, the error is ErrBudget; for
// hostile input, there can be as many rounds as nodes.
func (g *Graph) ColoursWithin(budget *int) ([]types.Hash, error) {
	n := len(g.Labels)
	old, now := make([]types.Hash, n), slices.Clone(g.Labels)
	if g.Initial != nil {
		copy(now, g.Initial)
	}
	for seen, classes := newSet(n), 0; ; {
		if *budget -= n + len(g.Refs); *budget < 0 {
			return nil, ErrBudget
		}
		old, now = now, old
		g.Round(old, now)
		if n == 1 {
			return now, nil
		}
		c := seen.distinct(now)
		if c <= classes || c == n {
			return now, nil
		}
		classes = c
	}
}

// Round computes the next colours of all nodes, and stores them in now. The next colour of a node
// is its label, mixed with the old colours of the nodes to which it refers.
func (g *Graph) Round(old, now []types.Hash) {
	for i, label := range g.Labels {
		h := types.Start(types.KindVoid, 0, 0, label, types.Hash{})
		for _, r := range g.Refs[g.First[i]:g.First[i+1]] {
			if r >= 0 {
				h.Elem(types.Hash{}, old[r], 0)
			} else {
				h.Elem(types.Hash{}, g.Outside[^r], 0)
			}
		}
		now[i] = h.Sum(false)
	}
}

// set is a hash table that counts distinct hashes. It can be used again without being cleared: an
// entry counts only if its round is the current one.
type set struct {
	table []types.Hash
	round []uint32
	now   uint32
}

func newSet(n int) *set {
	if n == 1 {
		return nil // there is nothing to count
	}
	size := 1 << bits.Len(uint(2*n+15))
	return &set{table: make([]types.Hash, size), round: make([]uint32, size)}
}

// distinct counts distinct hashes. There must not be more hashes than the set was made for.
func (s *set) distinct(hashes []types.Hash) int {
	s.now++
	mask := uint64(len(s.table) - 1)
	n := 0
	for _, h := range hashes {
		i := h.A & mask
		for s.round[i] == s.now && s.table[i] != h {
			i = (i + 1) & mask
		}
		if s.round[i] != s.now {
			s.round[i], s.table[i] = s.now, h
			n++
		}
	}
	return n
}
