package link

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/types"
)

func TestStringsAreSortedBytewise(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 100, 1 << 14} {
		g := types.New()
		var list []types.Str
		add := func(b []byte) {
			if before := g.Strs.Len(); len(b) > 0 && int(g.Strs.Intern(b)) == before {
				list = append(list, types.Str(before))
			}
		}
		families := []string{"", "x", "print_fmt_", strings.Repeat("long_", 30), "\xff\xfe", "8bytes__"}
		for range n {
			b := []byte(families[rng.IntN(len(families))])
			for range rng.IntN(12) {
				b = append(b, "_abc\x00\x7f\xff"[rng.IntN(7)])
			}
			add(b)
			add(b[:len(b)/2])
		}
		want := slices.Clone(list)
		slices.SortFunc(want, func(a, b types.Str) int { return bytes.Compare(g.Strs.Bytes(a), g.Strs.Bytes(b)) })
		for jobs := 1; jobs <= 3; jobs++ {
			got := slices.Clone(list)
			sortStrings(&g.Strs, got, jobs)
			if !slices.Equal(got, want) {
				t.Errorf("%d strings with %d threads are not sorted", len(list), jobs)
			}
		}
	}
}
