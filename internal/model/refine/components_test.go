package refine

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestComponents(t *testing.T) {
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		n := 1 + rng.IntN(30)
		to := make([][]int32, n)
		for range rng.IntN(2 * n) {
			i := rng.IntN(n)
			to[i] = append(to[i], int32(rng.IntN(n)))
		}
		reach := make([][]bool, n) // the definition: who leads to whom
		for i := range reach {
			reach[i] = make([]bool, n)
			for work := []int32{int32(i)}; len(work) > 0; work = work[1:] {
				if !reach[i][work[0]] {
					reach[i][work[0]] = true
					work = append(work, to[work[0]]...)
				}
			}
		}
		at := make([]int, n) // which component a node is in, from 1
		count := 0
		Components(n, func(i int32, buf []int32) []int32 { return append(buf, to[i]...) },
			func(component []int32) {
				count++
				for _, i := range component {
					if at[i] != 0 {
						t.Fatalf("seed %d: node %d is in two components", seed, i)
					}
					at[i] = count
				}
			})
		for i := range n {
			if at[i] == 0 {
				t.Fatalf("seed %d: node %d is in no component", seed, i)
			}
			for j := range n {
				if same := reach[i][j] && reach[j][i]; same != (at[i] == at[j]) {
					t.Fatalf("seed %d: nodes %d and %d lead to each other: %v; components %d and %d",
						seed, i, j, same, at[i], at[j])
				}
				if reach[i][j] && at[j] > at[i] {
					t.Fatalf("seed %d: node %d comes before %d, to which it leads", seed, i, j)
				}
			}
		}
	}
}

// A chain as long as any input must not exhaust the stack.
func TestLongChain(t *testing.T) {
	const n = 1 << 20
	var order []int32
	Components(n, func(i int32, buf []int32) []int32 {
		if i+1 < n {
			buf = append(buf, i+1)
		}
		return buf
	}, func(component []int32) { order = append(order, component...) })
	slices.Reverse(order)
	if len(order) != n || !slices.IsSorted(order) {
		t.Errorf("%d components, or not in order", len(order))
	}
}
