// Package refine finds out which nodes of a graph with cycles have equal content, by partition
// refinement: it computes the coarsest bisimulation.
package refine

import (
	"errors"
	"math"
	"math/bits"
	"slices"

	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Graph is a graph of labelled nodes, numbered from 0.
type Graph struct {
	// Labels, one a node, are hashes of a node's content apart from what its references lead to.
	Labels []types.Hash
	// Initial, one a node, are the colours before the first round. Nodes of equal label whose
	// references have equal initial colours must have equal initial colours. Nil: the labels.
	Initial []types.Hash
	// First has one more element than there are nodes. The references of node i, in order, are
	// Refs[First[i]:First[i+1]].
	First []uint32
	// Refs are numbers of nodes, and ^k for Outside[k].
	Refs []int32
	// Outside are the colours of what is not part of the graph. They never change.
	Outside []types.Hash
}

// ErrBudget says that a refinement takes more work than its caller allows.
var ErrBudget = errors.New("the types refer to each other too deeply to be distinguished")

// Colours returns a hash for each node. Two are equal exactly if the nodes have equal labels and
// refer, in order, to nodes of equal colour and to equal outside colours. They depend on content
// alone, not on the numbers of the nodes; but how deep a colour looks depends on how many rounds
// the whole graph took, so colours of different graphs do not compare.
func (g *Graph) Colours() []types.Hash {
	unlimited := math.MaxInt
	colours, _ := g.ColoursWithin(&unlimited)
	return colours
}

// ColoursWithin is Colours within a budget, in nodes and references looked at, from which it takes
// what it used. When that is not enough, the error is ErrBudget. Hostile input can ask for as many
// rounds as there are nodes.
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

// Round computes the next colours of all nodes into now: each one's label, mixed with the old
// colours of what it refers to.
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

// set counts distinct hashes, many times in the same memory: a hash table in which an entry counts
// only if its round is the present one.
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

// distinct counts the distinct ones of at most as many hashes as the set was made for.
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
