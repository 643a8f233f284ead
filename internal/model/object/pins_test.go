package object

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// chains returns a blob with two chains of structs t0 → t1 → t2, whose definitions differ in
// size. The first t2 has the given size.
func chains(size uint32) *btf.Blob {
	b := btf.NewBuilder(nil, nil, nil)
	for i, size := range []uint32{size, 8} {
		t2 := b.Composite(btf.KindStruct, "t2", size, false)
		p2 := b.Ref(btf.KindPtr, "", t2)
		width := 8 + 8*uint32(i)
		t1 := b.Composite(btf.KindStruct, "t1", width, false, btf.Member{NameOff: b.Name("m"), Type: p2})
		p1 := b.Ref(btf.KindPtr, "", t1)
		b.Composite(btf.KindStruct, "t0", width, false, btf.Member{NameOff: b.Name("m"), Type: p1})
	}
	return b.Finish()
}

// TestPinsAreGlobal: two blobs define a tag differently. To see this difference, pins must look
// further than is needed to distinguish the definitions within each blob.
func TestPinsAreGlobal(t *testing.T) {
	x, y := fromBTF(t, chains(16)), fromBTF(t, chains(24))
	var first []byte
	for _, order := range [][]*Object{{x, y}, {y, x}} {
		m := must.Get(Merge(order...))(t)
		structs := map[string]int{}
		g := m.Graph
		for i := range g.Nodes {
			if n := &g.Nodes[i]; n.Kind == types.KindStruct {
				structs[g.Name(n)]++
			}
		}
		for _, tag := range []string{"t0", "t1", "t2"} {
			if structs[tag] != 3 {
				t.Errorf("%d definitions of %s, want 3", structs[tag], tag)
			}
		}
		data := write(t, m)
		if first == nil {
			first = data
		}
		if !bytes.Equal(first, data) {
			t.Error("the order of merging changes the object")
		}
		if back, err := read(data); err != nil {
			t.Error(err)
		} else if !bytes.Equal(data, write(t, back)) {
			t.Error("written differently after a round trip")
		}
	}
}

// TestMergeRefusesPins: objects in which a pin means different definitions are refused, because
// such files were altered.
func TestMergeRefusesPins(t *testing.T) {
	make := func(size uint32) *Object {
		o := New(amd64, 0)
		g := o.Graph
		s := g.Strs.Intern([]byte("s"))
		stub := g.PinnedStub(types.TagStruct, s, types.Hash{A: 1, B: 2})
		def := g.Add(types.Node{Kind: types.KindStruct, Name: s, Size: size}, nil)
		must.OK(t, g.Define(stub, def))
		ptr := g.Add(types.Node{Kind: types.KindPtr, Ref: stub}, nil)
		o.Units = []Unit{{Count: 1, Items: []types.ID{def, ptr}}}
		return o
	}
	if _, err := Merge(make(4), make(8)); err == nil {
		t.Error("objects in which a pin means different definitions were merged")
	}
}

// randomChain returns a base and split BTF on it. Both define and declare the same few tags; the
// references between types are random.
func randomChain(r *rand.Rand) (base, split *btf.Blob) {
	name := func(prefix string, n int) string { return prefix + string(rune('0'+r.IntN(n))) }
	blob := func(below *btf.Blob) *btf.Blob {
		b := btf.NewBuilder(nil, below, nil)
		first := b.NextID()
		end := first + 2 + r.Uint32N(8)
		for id := first; id < end; id++ {
			to := r.Uint32N(end)
			switch r.IntN(6) {
			case 0, 1, 2:
				b.Composite(btf.KindStruct, name("s", 3), 4*r.Uint32N(2), false,
					btf.Member{NameOff: b.Name("m"), Type: to})
			case 3:
				b.Fwd(name("s", 3), false)
			case 4:
				b.Ref(btf.KindPtr, "", r.Uint32N(id)) // refers back, so that every cycle passes through a tag
			case 5:
				b.Ref(btf.KindTypedef, name("t", 2), r.Uint32N(id))
			}
		}
		return b.Finish()
	}
	base = blob(nil)
	return base, blob(base)
}

func TestBaseIsTheSameAlone(t *testing.T) {
	for seed := range uint64(3000) {
		base, split := randomChain(rand.New(rand.NewPCG(seed, 0)))
		alone, err := FromBTF(amd64, base)
		if err != nil {
			continue // contains itself
		}
		both, err := FromBTF(amd64, split)
		if err != nil {
			continue
		}
		contents := func(o *Object) (list []types.Hash) {
			for _, id := range o.Units[0].Items {
				list = append(list, o.Graph.Node(id).Hash)
			}
			slices.SortFunc(list, types.Hash.Cmp)
			return list
		}
		if !slices.Equal(contents(alone), contents(both)) {
			t.Fatalf("seed %d: the base has different shapes under split BTF", seed)
		}
	}
}

// returnsThemselves returns BTF with typedefs of functions that return pointers to these typedefs,
// as in libbpf's tests, with the types in the order perm.
func returnsThemselves(perm []int) *btf.Blob {
	b := btf.NewBuilder(nil, nil, nil)
	id := func(i int) uint32 { return uint32(slices.Index(perm, i)) + 1 }
	for _, i := range perm {
		switch i {
		case 0:
			b.Ref(btf.KindTypedef, "f", id(1))
		case 1:
			b.Ref(btf.KindPtr, "", id(2))
		case 2:
			b.FuncProto(id(0))
		case 3: // g and h return each other
			b.Ref(btf.KindTypedef, "g", id(4))
		case 4:
			b.Ref(btf.KindPtr, "", id(5))
		case 5:
			b.FuncProto(id(6))
		case 6:
			b.Ref(btf.KindTypedef, "h", id(7))
		case 7:
			b.Ref(btf.KindPtr, "", id(8))
		case 8:
			b.FuncProto(id(3))
		case 9:
			b.Composite(btf.KindStruct, "ops", 16, false, btf.Member{NameOff: b.Name("f"), Type: id(0)},
				btf.Member{NameOff: b.Name("g"), Type: id(3), Offset: 64})
		}
	}
	return b.Finish()
}

func TestTypedefsInCycles(t *testing.T) {
	var first []byte
	for seed := range uint64(50) {
		perm := rand.New(rand.NewPCG(seed, 0)).Perm(10)
		blob := returnsThemselves(perm)
		if v := verify.Check(blob, verify.Options{}); len(v) > 0 {
			t.Fatalf("the kernel would refuse it: %v", v[0])
		}
		o := fromBTF(t, blob)
		for i := range o.Graph.Nodes {
			if n := &o.Graph.Nodes[i]; n.Kind == types.KindStub && (n.Aux != uint32(types.TagTypedef) ||
				n.Size != 1 || o.Graph.Node(n.Ref).Kind != types.KindTypedef) {
				t.Fatalf("stub %q is not a pinned stub of a typedef", o.Graph.Name(n))
			}
		}
		data := write(t, o)
		if first == nil {
			first = data
		}
		if !bytes.Equal(data, first) {
			t.Fatalf("seed %d: the order of types changes the object", seed)
		}
		back := must.Get(read(data))(t)
		if !bytes.Equal(data, write(t, back)) {
			t.Fatal("written differently after a round trip")
		}
		m := must.Get(Merge(back, o, fromBTF(t, chains(16))))(t)
		if len(m.Units) != 2 || m.Units[0].Count != 2 {
			t.Fatalf("%d units, the first %d times; want 2, the first twice", len(m.Units), m.Units[0].Count)
		}
		checkStable(t, m)
	}
}
