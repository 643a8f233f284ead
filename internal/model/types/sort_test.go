package types

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestStringsAreSortedBytewise(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 100, 1 << 14, 1 << 15} {
		g := New()
		var list []Str
		add := func(b []byte) {
			if before := g.Strs.Len(); len(b) > 0 && int(g.Strs.Intern(b)) == before {
				list = append(list, Str(before))
			}
		}
		families := []string{"", "x", "print_fmt_", strings.Repeat("long_", 30),
			strings.Repeat("longest", 40), "\xff\xfe", "8bytes__"}
		for range n {
			b := []byte(families[rng.IntN(len(families))])
			for range rng.IntN(12) {
				b = append(b, "_abc\x00\x7f\xff"[rng.IntN(7)])
			}
			add(b)
			add(b[:len(b)/2])
		}
		want := slices.Clone(list)
		slices.SortFunc(want, func(a, b Str) int {
			return bytes.Compare(g.Strs.Bytes(a),
				g.Strs.Bytes(b))
		})
		inReverse := func(parts int, do func(int)) {
			for i := range parts {
				do(parts - 1 - i)
			}
		}
		for name, parallel := range map[string]func(int, func(int)){"alone": nil, "in parts": inReverse} {
			got := slices.Clone(list)
			g.Strs.Sort(got, parallel)
			if !slices.Equal(got, want) {
				t.Errorf("%d strings are not sorted %s", len(list), name)
			}
		}
	}
}
