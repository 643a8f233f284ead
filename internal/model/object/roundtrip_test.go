package object

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// read is the inverse of Write.
func read(data []byte) (*Object, error) {
	f, err := elf.Parse("BTF object", data)
	if err != nil {
		return nil, err
	}
	return readObject(f)
}

func TestReadIsTheInverseOfWrite(t *testing.T) {
	for seed := range uint64(500) {
		o := randomObject(seed)
		data := write(t, o)
		back, err := read(data)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want, err := o.normal()
		must.OK(t, err)
		if a, b := meaning(want), meaning(back); !slices.Equal(a, b) {
			t.Fatalf("seed %d: wrote\n%s\nread\n%s", seed, a, b)
		}
		if again := write(t, back); !bytes.Equal(data, again) {
			t.Fatalf("seed %d: writing what was read gives different bytes", seed)
		}
	}
}

// rebuilt returns o with its graph in a different order, with additional nodes to which nothing
// refers, and with units and items shuffled.
func rebuilt(o *Object, seed uint64) *Object {
	r := rand.New(rand.NewPCG(seed, 2))
	n := New(o.Target, o.Features)
	n.Graph.Import(randomObject(seed + 1000).Graph)
	// Children first, but otherwise at random: import one item's closure after the other.
	perm := r.Perm(len(o.Units))
	ids := map[types.ID]types.ID{}
	var copyNode func(id types.ID) types.ID
	copyNode = func(id types.ID) types.ID {
		if id == 0 {
			return 0
		}
		if c, ok := ids[id]; ok {
			return c
		}
		x := *o.Graph.Node(id)
		x.Name = n.Graph.Strs.Intern(o.Graph.Strs.Bytes(x.Name))
		if x.Kind == types.KindStub {
			if x.Size == 0 {
				ids[id] = n.Graph.Stub(types.Tag(x.Aux), x.Name)
				return ids[id]
			}
			c := n.Graph.PinnedStub(types.Tag(x.Aux), x.Name, o.Graph.Pin(o.Graph.Node(id)))
			ids[id] = c
			def := copyNode(x.Ref)
			n.Graph.Node(c).Ref = def
			return c
		}
		x.Ref = copyNode(x.Ref)
		var elems []types.Elem
		for _, e := range o.Graph.ElemsOf(o.Graph.Node(id)) {
			elems = append(elems, types.Elem{Name: n.Graph.Strs.Intern(o.Graph.Strs.Bytes(e.Name)),
				Ref: copyNode(e.Ref), Val: e.Val})
		}
		ids[id] = n.Graph.Add(x, elems)
		return ids[id]
	}
	for _, i := range perm {
		u := o.Units[i]
		u.File = n.Graph.Strs.Intern(o.Graph.Strs.Bytes(u.File))
		u.Items = slices.Clone(u.Items)
		r.Shuffle(len(u.Items), func(i, j int) { u.Items[i], u.Items[j] = u.Items[j], u.Items[i] })
		for j := range u.Items {
			u.Items[j] = copyNode(u.Items[j])
		}
		n.Units = append(n.Units, u)
	}
	return n
}

func TestBytesDependOnMeaningAlone(t *testing.T) {
	for seed := range uint64(300) {
		o := randomObject(seed)
		if a, b := write(t, o), write(t, rebuilt(o, seed)); !bytes.Equal(a, b) {
			t.Fatalf("seed %d: a different order of construction gives different bytes", seed)
		}
	}
}

func TestEmptyObject(t *testing.T) {
	o := New(amd64, 0)
	data := write(t, o)
	back := must.Get(read(data))(t)
	if len(back.Units) != 0 || len(back.Graph.Nodes) != 1 || back.Target != o.Target {
		t.Fatalf("read %+v", back)
	}
	if len(data) > 600 {
		t.Errorf("an empty object takes %d bytes", len(data))
	}
}

// mergeTree merges objects in random groups, through files.
func mergeTree(t *testing.T, r *rand.Rand, objs []*Object) []byte {
	t.Helper()
	objs = slices.Clone(objs)
	for len(objs) > 1 {
		r.Shuffle(len(objs), func(i, j int) { objs[i], objs[j] = objs[j], objs[i] })
		n := 1 + r.IntN(min(4, len(objs)))
		m, err := Merge(objs[:n]...)
		must.OK(t, err)
		if r.IntN(2) == 0 {
			if m, err = read(write(t, m)); err != nil {
				t.Fatal(err)
			}
		}
		objs = append(objs[n:], m)
	}
	return write(t, objs[0])
}

func TestMergeIsAssociativeAndCommutative(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 3))
		var objs []*Object
		for i := range 2 + r.Uint64N(6) {
			o := randomObject(seed*10 + i%4)
			if r.IntN(5) == 0 {
				o.Target.Machine, o.Target.AddrSize = 0, 4
			}
			objs = append(objs, o)
		}
		want := mergeTree(t, r, objs)
		for range 4 {
			if !bytes.Equal(want, mergeTree(t, r, objs)) {
				t.Fatalf("seed %d: the order of merges changes the bytes", seed)
			}
		}
	}
}

func TestMergeLeavesItsInputs(t *testing.T) {
	a, b := randomObject(1), randomObject(2)
	before := write(t, a)
	must.Get(Merge(a, b, a))(t)
	if !bytes.Equal(before, write(t, a)) {
		t.Fatal("Merge changed its first object")
	}
}
