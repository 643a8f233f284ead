package resolve

import (
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/link/linktest"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// TestVariants adds more variants than a chunk has room for, with colours that differ only in
// their second half, and finds them again.
func TestVariants(t *testing.T) {
	p := linktest.New()
	p.Int("int")
	v := &variants{r: &resolver{Survey: p.Survey()}}
	colour := func(i int) types.Hash { return types.Hash{A: uint64(i % 700), B: uint64(i)} }
	const n = 2*chunkSize + 10
	var first *variant
	for i := range n {
		k, fresh := v.find(colour(i), types.ID(i))
		if fresh == nil || int(k) != len(v.r.Nodes)+i || fresh.node != types.ID(i) {
			t.Fatalf("variant %d: number %d, %+v", i, k, fresh)
		}
		if i == 0 {
			first = fresh
		}
	}
	for i := range n {
		k, fresh := v.find(colour(i), 0)
		if fresh != nil || int(k) != len(v.r.Nodes)+i || v.at(k).colour != colour(i) {
			t.Fatalf("variant %d: found %d, fresh: %v", i, k, fresh != nil)
		}
	}
	if first != v.at(Type(len(v.r.Nodes))) {
		t.Error("the first variant has moved")
	}
	v.frozen = true
	if k, fresh := v.find(colour(n), 0); k != 0 || fresh != nil || v.len != n {
		t.Errorf("a variant was added to frozen variants: %d", k)
	}
}

// TestVarying: the lists of units are in the order of the units, whatever the number of threads.
func TestVarying(t *testing.T) {
	p := linktest.New()
	a, b := p.Struct("a", p.Int("int")), p.Struct("b", p.Int("int"))
	const units = 2*someUnits + 3
	for u := range units {
		p.Unit("", 1, [][]types.ID{{a, b}, {b}, {a}}[u%3]...)
	}
	for _, jobs := range []int{1, 3} {
		r := &resolver{Survey: p.Survey(), jobs: jobs}
		r.roles = make([]role, len(r.Nodes))
		r.roles[b] = anchor
		r.Drop(units - 3)
		next := 0
		r.varying(func(u int, varying []types.ID) {
			var want []types.ID
			if u%3 < 2 && u != units-3 {
				want = []types.ID{b}
			}
			if u != next || !slices.Equal(varying, want) {
				t.Fatalf("unit %d of the list: unit %d, %v; want %v", next, u, varying, want)
			}
			next++
		})
		if next != units {
			t.Errorf("%d units, want %d", next, units)
		}
	}
}

// TestUnpinned: structs that differ only in which definition a pinned stub means count as one root.
func TestUnpinned(t *testing.T) {
	p := linktest.New()
	var outer []types.ID
	for i := range 2 {
		def := p.Struct("inner", slices.Repeat([]types.ID{p.Int("int")}, i+1)...)
		stub := p.Graph.PinnedStub(types.TagStruct, p.Str("inner"), p.Graph.Node(def).Hash)
		if err := p.Graph.Define(stub, def); err != nil {
			t.Fatal(err)
		}
		outer = append(outer, p.Struct("outer", p.Ptr(stub)), p.Struct("other", p.Ptr(stub)))
	}
	r := &resolver{Survey: p.Survey()}
	if outer[0] == outer[2] || r.unpinned(outer[0]) != r.unpinned(outer[2]) {
		t.Error("two nodes with the same shape")
	}
	if r.unpinned(outer[0]) == r.unpinned(outer[1]) {
		t.Error("two shapes count as one")
	}
}
