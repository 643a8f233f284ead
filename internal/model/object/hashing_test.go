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
	"github.com/rules-btf/rules_btf/internal/support/must"
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
	must.OK(t, os.WriteFile(path, want, 0o666))
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
		must.OK(t, m.agree(path, says))
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

// TestRefused: hashing visits each type at most once if it can't hash some of them. Each type
// refers twice to the next one, so there are 2^n paths.
func TestRefused(t *testing.T) {
	const n = 120
	for _, tt := range []struct {
		name string
		n    int
		last func(b *btf.Builder, first uint32) // adds the type after the last one
	}{
		{"a cycle", n, func(b *btf.Builder, first uint32) { b.Ref(btf.KindPtr, "", first) }},
		{"a reference to no type", n, func(b *btf.Builder, _ uint32) { b.Ref(btf.KindPtr, "", 1<<20) }},
		{"a section", n, func(b *btf.Builder, _ uint32) { b.Datasec("s", 0) }},
		{"too deep", types.MaxDepth + 10, func(b *btf.Builder, _ uint32) { b.Int("int", 4, 0, 0) }},
	} {
		for kind, add := range map[string]func(b *btf.Builder, next uint32){
			"struct": func(b *btf.Builder, next uint32) {
				b.Composite(btf.KindStruct, "", 16, false, btf.Member{Type: next},
					btf.Member{Type: next, Offset: 64})
			},
			"array":      func(b *btf.Builder, next uint32) { b.Array(next, next, 1) },
			"parameters": func(b *btf.Builder, next uint32) { b.FuncProto(next, btf.Param{Type: next}) },
		} {
			b := btf.NewBuilder(nil, nil, nil)
			for range tt.n {
				add(b, b.NextID()+1)
			}
			tt.last(b, 1)
			blob := b.Finish()
			a, _ := newAbsorber()
			a.blob, a.text = *blob, []byte(blob.Strings)
			a.sizes, a.shapes = make([]uint32, len(blob.Types)+1), make([]shape, len(blob.Types)+1)
			a.crossed = make([]uint32, len(a.shapes))
			h := hasher{absorber: a, number: firstHasher}
			a.hashNames()
			for i := range blob.Types {
				h.begin(uint32(i + 1))
			}
			if h.hash(1, 0) {
				t.Errorf("%s, %s: hashed", tt.name, kind)
			}
			if most := uint32(3 * len(blob.Types)); h.wasted == 0 || h.wasted > most {
				t.Errorf("%s, %s: visited %d types and references, want at most %d", tt.name, kind, h.wasted,
					most)
			}
			if _, ok := hashedShapes(blob); ok {
				t.Errorf("%s, %s: shapes of invalid types", tt.name, kind)
			}
		}
	}
}
