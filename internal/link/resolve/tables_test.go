package resolve

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/link/linktest"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func newResolver(p *linktest.Builder) *resolver {
	s := p.Survey()
	return &resolver{Types: &Types{Shapes: s.Shapes}, Held: s.Held}
}

// TestVariants adds more variants than a chunk has room for, with colours that differ only in
// their second half, and finds them again.
func TestVariants(t *testing.T) {
	p := linktest.New()
	p.Int("int")
	r := newResolver(p)
	v := &maker{variants: &variants{begin: len(r.Shapes.Nodes)}, r: r}
	colour := func(i int) types.Hash { return types.Hash{A: uint64(i % 700), B: uint64(i)} }
	const n = 2*chunkSize + 10
	var first *variant
	for i := range n {
		k, fresh := v.find(colour(i), types.ID(i))
		if fresh == nil || int(k) != len(v.r.Shapes.Nodes)+i || fresh.node != types.ID(i) {
			t.Fatalf("variant %d: number %d, %+v", i, k, fresh)
		}
		if i == 0 {
			first = fresh
		}
	}
	for i := range n {
		k, fresh := v.find(colour(i), 0)
		if fresh != nil || int(k) != len(v.r.Shapes.Nodes)+i || v.at(k).colour != colour(i) {
			t.Fatalf("variant %d: found %d, fresh: %v", i, k, fresh != nil)
		}
	}
	if first != v.at(Type(len(v.r.Shapes.Nodes))) {
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
		r := newResolver(p)
		r.jobs = jobs
		r.roles = make([]role, len(r.Shapes.Nodes))
		r.roles[b] = anchor
		r.Held.Selected[units-3] = false
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
		must.OK(t, p.Graph.Define(stub, def))
		outer = append(outer, p.Struct("outer", p.Ptr(stub)), p.Struct("other", p.Ptr(stub)))
	}
	r := newResolver(p)
	r.plain = p.Graph.Unpinned()
	if outer[0] == outer[2] || r.unpinned(outer[0]) != r.unpinned(outer[2]) {
		t.Error("two nodes with the same shape")
	}
	if r.unpinned(outer[0]) == r.unpinned(outer[1]) {
		t.Error("two shapes count as one")
	}
}

// TestEnterOnce: if many shapes of a unit are looked up, its environment is entered once, because
// that takes as long as the environment is large.
func TestEnterOnce(t *testing.T) {
	p := linktest.New()
	one, other := p.Struct("inner", p.Int("int")), p.Struct("inner", p.Int("int"), p.Int("int"))
	items := [2][]types.ID{{one}, {other}}
	for i := range 100 {
		outer := p.Struct(fmt.Sprintf("outer%d", i), p.Ptr(p.Stub("inner")))
		items[0], items[1] = append(items[0], outer), append(items[1], outer)
	}
	units := [2]int{p.Unit("", 2, items[0]...), p.Unit("", 1, items[1]...)}
	r := resolveUnits(p, nil)
	before := r.r.view.round
	for i, u := range units {
		for _, id := range items[i] {
			r.In(u, id)
		}
	}
	if n := r.r.view.round - before; n > int32(len(units)) {
		t.Errorf("environments were entered %d times, want %d", n, len(units))
	}
}

// TestFreed: without Units, the types keep neither the resolver's tables nor the survey's users.
func TestFreed(t *testing.T) {
	p := linktest.New()
	one, other := p.Struct("inner", p.Int("int")), p.Struct("inner", p.Int("int"), p.Int("int"))
	outer := p.Struct("outer", p.Ptr(p.Stub("inner")))
	p.Unit("", 2, one, outer)
	p.Unit("", 1, other, outer)
	s := p.Survey()
	kept, u := Resolve(s, nil, nil, 1)
	freed := make(chan string, 3)
	runtime.AddCleanup(s, func(what string) { freed <- what }, "users")
	runtime.AddCleanup(u.r, func(what string) { freed <- what }, "resolver")
	runtime.AddCleanup(u.made, func(what string) { freed <- what }, "maker")
	for n := range 3 {
		runtime.GC()
		select {
		case <-freed:
		case <-time.After(10 * time.Second):
			t.Fatalf("%d of 3 are freed", n)
		}
	}
	runtime.KeepAlive(kept)
}

// TestSlots: there are at most about maxSlots slots, even if large anonymous shapes are used often.
func TestSlots(t *testing.T) {
	p := linktest.New()
	one, other := p.Struct("inner", p.Int("int")), p.Struct("inner", p.Int("int"), p.Int("int"))
	p.Unit("", 2, one)
	pointer := p.Ptr(p.Stub("inner"))
	parts := make([]types.ID, large-10)
	for i := range parts {
		parts[i] = pointer
	}
	users := make([]types.ID, 2*maxSlots/large)
	anonymous := p.Struct("", parts...)
	for i := range users {
		users[i] = anonymous
	}
	user := p.Struct("user", users...)
	f := p.Proto(0, anonymous, anonymous)
	p.Unit("", 1, other, user)
	p.Fn("f", types.LinkageGlobal, 0, f)
	r := resolveUnits(p, nil)
	if n := len(r.r.slots.all); n > maxSlots {
		t.Errorf("%d slots, want at most %d", n, maxSlots)
	}
	if held := r.held.Holders(types.KindFunc, p.Str("f"), nil); len(held) != 1 || held[0].Weight != 1 {
		t.Errorf("the function is held as %+v", held)
	}
}
