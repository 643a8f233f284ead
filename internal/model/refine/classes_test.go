package refine

import (
	"math/rand/v2"
	"testing"
)

// numbered converts a graph to the form that Classes takes. Outside colours become nodes that have
// their own labels.
func numbered(g *Graph) (labels, first, refs []uint32) {
	n := uint32(len(g.Labels))
	known := map[any]uint32{}
	label := func(of any) uint32 {
		if _, ok := known[of]; !ok {
			known[of] = uint32(len(known))
		}
		return known[of]
	}
	for _, h := range g.Labels {
		labels = append(labels, label(h))
	}
	first = append(first, g.First...)
	for _, h := range g.Outside {
		labels = append(labels, label([2]any{"outside", h}))
		first = append(first, uint32(len(g.Refs)))
	}
	for _, r := range g.Refs {
		if r < 0 {
			r = int32(n) + ^r
		}
		refs = append(refs, uint32(r))
	}
	return labels, first, refs
}

func TestClasses(t *testing.T) {
	for seed := range uint64(4000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		g := randomGraph(rng, 1+rng.IntN(24))
		class, count := Classes(numbered(g))
		seen := map[uint32]bool{}
		for _, c := range class {
			if seen[c] = true; c >= uint32(count) {
				t.Fatalf("seed %d: class %d of %d", seed, c, count)
			}
		}
		if len(seen) != count {
			t.Fatalf("seed %d: %d of %d classes have nodes", seed, len(seen), count)
		}
		equal := bisimilar(g)
		for i := range equal {
			for j := range equal {
				if got := class[i] == class[j]; got != equal[i][j] {
					t.Fatalf("seed %d: nodes %d and %d: equal classes %v, bisimilar %v\n%+v",
						seed, i, j, got, equal[i][j], g)
				}
			}
		}
	}
}

// For a long chain, Colours takes as many rounds as the chain has nodes; Classes must be fast.
func TestClassesOfLongChain(t *testing.T) {
	const n = 1 << 20
	labels, first, refs := make([]uint32, n), []uint32{0}, []uint32{}
	labels[0] = 1
	for i := range uint32(n) {
		if i > 0 {
			refs = append(refs, i-1)
		}
		first = append(first, uint32(len(refs)))
	}
	if _, count := Classes(labels, first, refs); count != n {
		t.Errorf("%d classes, want %d", count, n)
	}
	if class, count := Classes(nil, []uint32{0}, nil); len(class)+count != 0 {
		t.Errorf("%d classes of no nodes", count)
	}
}
