package refine

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/model/types"
)

func hash(n int) types.Hash { return types.HashString([]byte{byte(n), byte(n >> 8)}) }

// randomGraph returns a graph of n nodes with few labels, so that many nodes are equal.
func randomGraph(rng *rand.Rand, n int) *Graph {
	g := &Graph{First: make([]uint32, 1, n+1)}
	for range 1 + rng.IntN(3) {
		g.Outside = append(g.Outside, hash(1000+rng.IntN(3)))
	}
	labels, degree := 1+rng.IntN(3), 1+rng.IntN(3)
	for range n {
		label := rng.IntN(labels)
		g.Labels = append(g.Labels, hash(label))
		for range label % (degree + 1) { // the label determines how many references there are
			if rng.IntN(8) == 0 {
				g.Refs = append(g.Refs, ^int32(rng.IntN(len(g.Outside))))
			} else {
				g.Refs = append(g.Refs, int32(rng.IntN(n)))
			}
		}
		g.First = append(g.First, uint32(len(g.Refs)))
	}
	return g
}

// bisimilar implements the definition: all pairs of nodes are equal until something distinguishes
// them.
func bisimilar(g *Graph) [][]bool {
	n := len(g.Labels)
	equal := make([][]bool, n)
	for i := range equal {
		equal[i] = make([]bool, n)
		for j := range equal[i] {
			equal[i][j] = g.Labels[i] == g.Labels[j]
		}
	}
	same := func(a, b int32) bool {
		if a < 0 || b < 0 {
			return a < 0 && b < 0 && g.Outside[^a] == g.Outside[^b]
		}
		return equal[a][b]
	}
	for changed := true; changed; {
		changed = false
		for i := range n {
			for j := range n {
				if equal[i][j] && !slices.EqualFunc(g.Refs[g.First[i]:g.First[i+1]],
					g.Refs[g.First[j]:g.First[j+1]], same) {
					equal[i][j], changed = false, true
				}
			}
		}
	}
	return equal
}

func TestBisimulation(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 0))
		g := randomGraph(rng, 1+rng.IntN(24))
		if rng.IntN(2) == 0 { // initial colours that distinguish fewer nodes than the labels
			g.Initial = make([]types.Hash, len(g.Labels))
		}
		equal := bisimilar(g)
		for _, colours := range [][]types.Hash{g.Colours(), g.deep()} {
			for i := range colours {
				for j := range colours {
					if got := colours[i] == colours[j]; got != equal[i][j] {
						t.Fatalf("seed %d: nodes %d and %d: equal colours %v, bisimilar %v\n%+v",
							seed, i, j, got, equal[i][j], g)
					}
				}
			}
		}
	}
}

func TestOrderOfNodesIsNotSeen(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		g := randomGraph(rng, 1+rng.IntN(40))
		n := len(g.Labels)
		to := rng.Perm(n)
		from := make([]int, n)
		for i, j := range to {
			from[j] = i
		}
		p := &Graph{First: []uint32{0}, Outside: g.Outside}
		for _, i := range from {
			p.Labels = append(p.Labels, g.Labels[i])
			for _, r := range g.Refs[g.First[i]:g.First[i+1]] {
				if r >= 0 {
					r = int32(to[r])
				}
				p.Refs = append(p.Refs, r)
			}
			p.First = append(p.First, uint32(len(p.Refs)))
		}
		for i, j := range to {
			if g.Colours()[i] != p.Colours()[j] || g.deep()[i] != p.deep()[j] {
				t.Fatalf("seed %d: node %d gets a different colour if it is node %d", seed, i, j)
			}
		}
	}
}

// A long chain takes as many rounds as it has nodes, or deep.
func TestBudget(t *testing.T) {
	const n = 1 << 16
	g := &Graph{Outside: []types.Hash{hash(1)}}
	for i := range int32(n) {
		g.Labels = append(g.Labels, hash(0))
		g.First = append(g.First, uint32(i))
		g.Refs = append(g.Refs, i-1) // ^0 for node 0
	}
	g.First = append(g.First, n)
	budget := 1 << 24 // the rounds would examine 1 << 33 nodes and references
	if _, err := g.ColoursWithin(&budget); !errors.Is(err, ErrBudget) {
		t.Errorf("error %v, want %v", err, ErrBudget)
	}
	colours := g.Colours()
	if distinct := newSet(n).distinct(colours); distinct != n {
		t.Errorf("%d colours, want %d", distinct, n)
	}
	if !slices.Equal(colours, g.deep()) {
		t.Error("the colours are not those of deep")
	}
}

// TestEqualNodesDoNotShow: if nodes get copies, their colours stay the same.
func TestEqualNodesDoNotShow(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		g := randomGraph(rng, 1+rng.IntN(20))
		n := len(g.Labels)
		more := &Graph{Labels: slices.Concat(g.Labels, g.Labels), First: slices.Clone(g.First),
			Refs: slices.Clone(g.Refs), Outside: g.Outside}
		for i := range n {
			for _, r := range g.Refs[g.First[i]:g.First[i+1]] {
				if r >= 0 && rng.IntN(2) == 0 {
					r += int32(n)
				}
				more.Refs = append(more.Refs, r)
			}
			more.First = append(more.First, uint32(len(more.Refs)))
		}
		if want, got := g.deep(), more.deep(); !slices.Equal(slices.Concat(want, want), got) {
			t.Fatalf("seed %d: the colours are %v, with copies %v", seed, want, got)
		}
	}
}

func TestNoNodes(t *testing.T) {
	if c := (&Graph{First: []uint32{0}}).Colours(); len(c) != 0 {
		t.Errorf("%d colours of no nodes", len(c))
	}
}
