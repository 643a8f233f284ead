package types

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestPart: a part has only what its roots lead to, including through pinned stubs.
func TestPart(t *testing.T) {
	g := New()
	name := func(s string) Str { return g.Strs.Intern([]byte(s)) }
	add := func(kind Kind, s string, ref ID, elems ...Elem) ID {
		return g.Add(Node{Kind: kind, Name: name(s), Ref: ref, Size: 4}, elems)
	}
	char := add(KindInt, "char", 0)
	for range 100 { // so that the bits of the nodes are in several words
		add(KindPtr, "", ID(len(g.Nodes)-1))
	}
	number := add(KindInt, "number", 0)
	pinned := g.PinnedStub(TagStruct, name("pinned"), Hash{1, 2})
	root := add(KindStruct, "root", 0, Elem{name("a"), number, 0}, Elem{name("b"), pinned, 32})
	color := add(KindEnum, "color", 0, Elem{name("RED"), 0, 1})
	inner := add(KindTypedef, "inner", char)
	for range 100 {
		add(KindConst, "", ID(len(g.Nodes)-1))
	}
	meant := add(KindStruct, "pinned", 0, Elem{name("c"), inner, 0})
	must.OK(t, g.Define(pinned, meant))
	var p Parter
	for _, c := range []struct {
		name  string
		roots []ID
		want  []ID // in the order of the graph
		strs  int  // with the empty one
	}{
		{"nothing", nil, nil, 1},
		{"a base type", []ID{char}, []ID{char}, 2},
		{"an enum", []ID{color}, []ID{color}, 3},
		{"a typedef and its type", []ID{inner}, []ID{char, inner}, 3},
		{"what a pinned stub means", []ID{root, number},
			[]ID{char, number, pinned, root, inner, meant}, 9},
	} {
		part := p.Part(g.Snapshot(), slices.Values(c.roots))
		if len(part.Nodes) != len(c.want)+1 || part.Strs.Len() != c.strs {
			t.Errorf("%s: %d nodes and %d strings, want %d and %d", c.name, len(part.Nodes)-1,
				part.Strs.Len(), len(c.want), c.strs)
			continue
		}
		for i, id := range c.want {
			n, from := part.Node(ID(i+1)), g.Node(id)
			if p.ID(id) != ID(i+1) || n.Hash != from.Hash || part.Name(n) != g.Name(from) ||
				part.Find(n.Hash) != ID(i+1) {
				t.Errorf("%s: node %d is %+v, want a copy of %+v", c.name, i+1, n, from)
			}
			if n.Kind == KindStub {
				if n.Ref != p.ID(meant) || part.Pin(n) != (Hash{1, 2}) {
					t.Errorf("%s: the pinned stub is %+v", c.name, n)
				}
			} else if n.HashWith(&part.Strs, part.ElemsOf(n),
				func(id ID) Hash { return part.Nodes[id].Hash }) != n.Hash {
				t.Errorf("%s: node %d has content that doesn't match its hash", c.name, i+1)
			}
			if s, ok := part.Strs.Lookup(g.Strs.Bytes(from.Name)); !ok || s != n.Name {
				t.Errorf("%s: %q is not found", c.name, g.Name(from))
			}
		}
	}
}

// TestPartsOfRandomGraphs compares parts with the nodes that are found one by one. All parts are
// made by the same Parter.
func TestPartsOfRandomGraphs(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var p Parter
	for range 40 {
		g := New()
		addRandom(g, rng, 4+rng.IntN(2000))
		roots := make([]ID, 1+rng.IntN(20))
		for i := range roots {
			roots[i] = ID(rng.IntN(len(g.Nodes)))
		}
		wanted := map[ID]bool{0: true}
		var reach func(id ID)
		reach = func(id ID) {
			if wanted[id] {
				return
			}
			wanted[id] = true
			for _, r := range g.Refs(id, nil) {
				reach(r)
			}
		}
		for _, id := range roots {
			reach(id)
		}
		part := p.Part(g.Snapshot(), slices.Values(roots))
		if len(part.Nodes) != len(wanted) {
			t.Fatalf("%d nodes, want %d", len(part.Nodes), len(wanted))
		}
		names := map[string]bool{"": true}
		for id := range wanted {
			n, from := part.Node(p.ID(id)), g.Node(id)
			elems, fromElems := part.ElemsOf(n), g.ElemsOf(from)
			same := n.Hash == from.Hash && n.Ref == p.ID(from.Ref) && len(elems) == len(fromElems)
			for i := range fromElems {
				e, f := elems[i], fromElems[i]
				same = same && e.Ref == p.ID(f.Ref) && e.Val == f.Val &&
					part.Strs.String(e.Name) == g.Strs.String(f.Name)
				names[g.Strs.String(f.Name)] = true
			}
			if !same || part.Name(n) != g.Name(from) {
				t.Fatalf("node %d: %+v with elements %v, want a copy of %+v with %v", id, n, elems, from,
					fromElems)
			}
			names[g.Name(from)] = true
		}
		if part.Strs.Len() != len(names) {
			t.Errorf("%d strings, want %d", part.Strs.Len(), len(names))
		}
	}
}
