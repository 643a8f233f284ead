package object

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// manyTypes returns an object with so many types, names and units that all work on its file is
// divided among threads. Most types lead to types of other parts of the file.
func manyTypes() *Object {
	o := New(Target{AddrSize: 8, Machine: 62}, features.Default())
	g := o.Graph
	str := func(format string, args ...any) types.Str {
		return g.Strs.Intern(fmt.Appendf(nil, format, args...))
	}
	integer := g.Add(types.Node{Kind: types.KindInt, Name: str("int"), Size: 4, Aux: 32}, nil)
	deep := integer
	for u := range 1000 {
		if u%20 == 0 {
			deep = integer
		}
		deep = g.Add(types.Node{Kind: types.KindTypedef, Name: str("t%d", u*7919%1000),
			Ref: g.Add(types.Node{Kind: types.KindPtr, Ref: deep}, nil)}, nil)
		stub := g.Stub(types.TagStruct, str("s%d", u*31%1000))
		elems := []types.Elem{{Name: str("m%d", u), Ref: deep},
			{Name: str("n%d", u%10), Ref: g.Add(types.Node{Kind: types.KindPtr, Ref: stub}, nil), Val: 64}}
		items := []types.ID{deep,
			g.Add(types.Node{Kind: types.KindStruct, Name: str("s%d", u), Size: 16}, elems)}
		for f := range 6 {
			proto := g.Add(types.Node{Kind: types.KindFuncProto, Ref: deep},
				[]types.Elem{{Name: str("a%d", f), Ref: elems[1].Ref}, {Name: str("b"), Ref: integer}})
			items = append(items, g.Add(types.Node{Kind: types.KindFunc, Ref: proto,
				Name: str("function_%d_of_%d", f, u), Aux: types.LinkageGlobal}, nil))
		}
		o.Units = append(o.Units, Unit{File: str("%d.c", u), Items: items, Count: 1})
	}
	return o
}

// TestThreadsDontShow reads and writes a large file on several threads.
func TestThreadsDontShow(t *testing.T) {
	o := manyTypes()
	want := write(t, o)
	path := filepath.Join(t.TempDir(), "o.btfo")
	if err := os.WriteFile(path, want, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, jobs := range []int{1, 2, 8} {
		if data, err := Write(o, jobs); err != nil || !bytes.Equal(data, want) {
			t.Errorf("-j%d: a different file, or an error: %v", jobs, err)
		}
		m := NewMerger()
		a := absorber{set: m.set, jobs: jobs}
		says, ok, err := a.absorb(path)
		if err != nil || !ok {
			t.Fatalf("-j%d: absorbed: %v, error %v", jobs, ok, err)
		}
		if err := m.agree(path, says); err != nil {
			t.Fatal(err)
		}
		if len(a.shapes) < 5<<11 || len(a.text) < 1<<16 {
			t.Errorf("%d types and %d bytes of names: too few for several threads", len(a.shapes),
				len(a.text))
		}
		if !bytes.Equal(write(t, m.Object()), want) {
			t.Errorf("-j%d: what was read is not what was written", jobs)
		}
	}
}

// TestMet: a hasher leaves a type for later if it leads to a type that another hasher is hashing,
// but refuses a type that leads to itself.
func TestMet(t *testing.T) {
	a, _ := newAbsorber()
	a.file = write(t, manyTypes())
	if _, _, ok := a.read("object"); !ok {
		t.Fatal("not read")
	}
	var typedef, pointer uint32
	for id := range a.shapes {
		if s := &a.shapes[id]; s.kind == btf.KindTypedef && s.depth > 3 {
			typedef, pointer = uint32(id), a.blob.Types[id-1].SizeOrType
		}
	}
	hash := a.shapes[typedef].hash
	for _, other := range []bool{false, true} {
		h := hasher{absorber: a, number: firstHasher, shared: true}
		child := a.blob.Types[pointer-1].SizeOrType
		a.shapes[typedef].state, a.shapes[pointer].state = free, free
		a.shapes[child].state = firstHasher
		if other {
			a.shapes[child].state++
		}
		if ok := h.try(typedef); ok != other || len(h.later) > 0 != other {
			t.Errorf("another hasher: %v; accepted: %v, for later: %d", other, ok, h.later)
		}
		if a.shapes[typedef].state != free || a.shapes[pointer].state != free {
			t.Error("the types are not free")
		}
		a.shapes[child].state = done
		a.shapes[typedef].hash = types.Hash{}
		if !h.hash(typedef, 0) || a.shapes[typedef].hash != hash {
			t.Error("the type isn't hashed later")
		}
	}
}
