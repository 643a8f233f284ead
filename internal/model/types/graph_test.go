package types

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// list builds the shapes of
//
//	struct list { struct list *next; int data[4]; };
//
// and returns the struct.
func list(g *Graph) ID {
	name := func(s string) Str { return g.Strs.Intern([]byte(s)) }
	i := g.Add(Node{Kind: KindInt, Name: name("int"), Size: 4, Aux: 1<<24 | 32}, nil)
	next := g.Add(Node{Kind: KindPtr, Ref: g.Stub(TagStruct, name("list"))}, nil)
	data := g.Add(Node{Kind: KindArray, Ref: i, Size: 4}, []Elem{{Ref: i}})
	return g.Add(Node{Kind: KindStruct, Name: name("list"), Size: 24},
		[]Elem{{name("next"), next, 0}, {name("data"), data, 64}})
}

func TestEqualContentIsOneNode(t *testing.T) {
	g := New()
	first := list(g)
	n := len(g.Nodes)
	if second := list(g); second != first || len(g.Nodes) != n {
		t.Errorf("added again: node %d and %d nodes, want node %d and %d", second, len(g.Nodes), first, n)
	}
}

// The hash is part of canonical order, so it must never change by accident. If it changes on
// purpose, the bytes of all outputs change, too.
func TestHashIsTheSameEverywhere(t *testing.T) {
	g := New()
	got := g.Node(list(g)).Hash
	if want := (Hash{0xb9bc162fa72d7d4e, 0x981be3f561102ff5}); got != want {
		t.Errorf("hash %#x, want %#x", got, want)
	}
	other := New()
	other.Strs.Intern([]byte("something else first")) // other Str and ID numbers
	other.Add(Node{Kind: KindFloat, Name: other.Strs.Intern([]byte("double")), Size: 8}, nil)
	if again := other.Node(list(other)).Hash; again != got {
		t.Errorf("hash %x in one graph, %x in another", got, again)
	}
}

// Any difference between two C types must show in the hash.
func TestDifferentContentIsDifferentNodes(t *testing.T) {
	g := New()
	name := func(s string) Str { return g.Strs.Intern([]byte(s)) }
	i := g.Add(Node{Kind: KindInt, Name: name("int"), Size: 4, Aux: 1<<24 | 32}, nil)
	u := g.Add(Node{Kind: KindInt, Name: name("unsigned int"), Size: 4, Aux: 32}, nil)
	variants := []struct {
		what  string
		node  Node
		elems []Elem
	}{
		{"struct s { int a; int b; }", Node{Kind: KindStruct, Name: name("s"), Size: 8},
			[]Elem{{name("a"), i, 0}, {name("b"), i, 32}}},
		{"other order of names", Node{Kind: KindStruct, Name: name("s"), Size: 8},
			[]Elem{{name("b"), i, 0}, {name("a"), i, 32}}},
		{"other tag", Node{Kind: KindStruct, Name: name("t"), Size: 8},
			[]Elem{{name("a"), i, 0}, {name("b"), i, 32}}},
		{"no tag", Node{Kind: KindStruct, Size: 8}, []Elem{{name("a"), i, 0}, {name("b"), i, 32}}},
		{"union", Node{Kind: KindUnion, Name: name("s"), Size: 8},
			[]Elem{{name("a"), i, 0}, {name("b"), i, 32}}},
		{"other size", Node{Kind: KindStruct, Name: name("s"), Size: 12},
			[]Elem{{name("a"), i, 0}, {name("b"), i, 32}}},
		{"other offset", Node{Kind: KindStruct, Name: name("s"), Size: 8},
			[]Elem{{name("a"), i, 0}, {name("b"), i, 40}}},
		{"other member type", Node{Kind: KindStruct, Name: name("s"), Size: 8},
			[]Elem{{name("a"), i, 0}, {name("b"), u, 32}}},
		{"one member", Node{Kind: KindStruct, Name: name("s"), Size: 8}, []Elem{{name("a"), i, 0}}},
		{"bitfields", Node{Kind: KindStruct, Name: name("s"), Size: 8, Flag: true},
			[]Elem{{name("a"), i, 0}, {name("b"), i, 32}}},
		{"its stub", Node{Kind: KindStub, Name: name("s"), Aux: uint32(TagStruct),
			Hash: HashStub(TagStruct, g.Strs.Hash(name("s")))}, nil},
		{"int *", Node{Kind: KindPtr, Ref: i}, nil},
		{"const int", Node{Kind: KindConst, Ref: i}, nil},
		{"void *", Node{Kind: KindPtr}, nil},
		{"int[2]", Node{Kind: KindArray, Ref: i, Size: 2}, []Elem{{Ref: i}}},
		{"int[2] indexed by unsigned", Node{Kind: KindArray, Ref: i, Size: 2}, []Elem{{Ref: u}}},
		{"int f(int)", Node{Kind: KindFuncProto, Ref: i}, []Elem{{0, i, 0}}},
		{"int f(int a)", Node{Kind: KindFuncProto, Ref: i}, []Elem{{name("a"), i, 0}}},
		{"int f(...)", Node{Kind: KindFuncProto, Ref: i}, []Elem{{0, 0, 0}}},
	}
	seen := map[ID]string{}
	for _, v := range variants {
		id := ID(0)
		if v.node.Kind == KindStub {
			id = g.Stub(TagStruct, v.node.Name)
		} else {
			id = g.Add(v.node, v.elems)
		}
		if other, ok := seen[id]; ok {
			t.Errorf("%s and %s are one node", v.what, other)
		}
		seen[id] = v.what
	}
}

func TestPinnedStubsAreNotTheStub(t *testing.T) {
	g := New()
	s := g.Strs.Intern([]byte("s"))
	stub, one, two := g.Stub(TagStruct, s), g.PinnedStub(TagStruct, s,
		Hash{1, 1}), g.PinnedStub(TagStruct, s, Hash{2, 2})
	if stub == one || one == two || stub == two {
		t.Errorf("stub %d, pinned stubs %d and %d", stub, one, two)
	}
	def := g.Add(Node{Kind: KindStruct, Name: s, Size: 8},
		[]Elem{{g.Strs.Intern([]byte("self")), one, 0}})
	must.OK(t, g.Define(one, def))
	other := New()
	ids := must.Get(other.Import(g))(t)
	if n := other.Node(ids[one]); n.Ref != ids[def] {
		t.Errorf("imported, the pin means node %d, want %d", n.Ref, ids[def])
	}
	// A pin must mean the same definition everywhere, so a different one is refused.
	if err := g.Define(one, stub); err == nil {
		t.Error("a pinned stub accepted a different definition")
	}
	wrong := New()
	s = wrong.Strs.Intern([]byte("s"))
	wrong.Node(wrong.PinnedStub(TagStruct, s, Hash{1, 1})).Ref = wrong.Add(
		Node{Kind: KindStruct, Name: s, Size: 4}, nil)
	if _, err := other.Import(wrong); err == nil {
		t.Error("imported a graph in which a pin means a different definition")
	}
}

// addRandom adds n random nodes to a graph, children first.
func addRandom(g *Graph, rng *rand.Rand, n int) {
	name := func() Str { return g.Strs.Intern(fmt.Appendf(nil, "n%d", rng.IntN(n/4))) }
	node := func() ID { return ID(rng.IntN(len(g.Nodes))) }
	for range n {
		switch rng.IntN(4) {
		case 0:
			g.Add(Node{Kind: KindPtr, Ref: node()}, nil)
		case 1:
			g.Add(Node{Kind: KindTypedef, Name: name(), Ref: node()}, nil)
		case 2:
			g.Stub(TagUnion, name())
		case 3:
			g.Add(Node{Kind: KindUnion, Name: name(), Size: 8},
				[]Elem{{name(), node(), 0}, {name(), node(), 32}})
		}
	}
}

func TestImportIsUnion(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	a, b := New(), New()
	addRandom(a, rng, 4000)
	addRandom(b, rng, 4000)
	contents := func(graphs ...*Graph) map[Hash]bool {
		set := map[Hash]bool{}
		for _, g := range graphs {
			for _, n := range g.Nodes[1:] {
				set[n.Hash] = true
			}
		}
		return set
	}
	want := contents(a, b)
	sum := New()
	ids := map[*Graph][]ID{}
	for _, g := range []*Graph{b, a} {
		var err error
		if ids[g], err = sum.Import(g); err != nil {
			t.Fatal(err)
		}
	}
	if len(sum.Nodes)-1 != len(want) {
		t.Errorf("%d nodes, want %d", len(sum.Nodes)-1, len(want))
	}
	for g, m := range ids {
		for id := range g.Nodes[1:] {
			n, got := g.Node(ID(id+1)), sum.Node(m[id+1])
			if got.Hash != n.Hash || sum.Name(got) != g.Name(n) || got.Kind != n.Kind {
				t.Fatalf("node %d %q became %q", id+1, g.Name(n), sum.Name(got))
			}
			r := got.HashWith(&sum.Strs, sum.ElemsOf(got), func(id ID) Hash { return sum.Nodes[id].Hash })
			if got.Kind != KindStub && r != got.Hash {
				t.Fatalf("node %q: its content hashes to %x, its hash is %x", sum.Name(got), r, got.Hash)
			}
		}
	}
}
