package object

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func fromBTF(t testing.TB, blobs ...*btf.Blob) *Object {
	t.Helper()
	o := must.Get(FromBTF(amd64, blobs...))(t)
	return o
}

const vmlinuxBTF = "/sys/kernel/btf/vmlinux"

func runningKernel(t testing.TB) *btf.Blob {
	data, err := os.ReadFile(vmlinuxBTF)
	if err != nil {
		t.Skipf("SKIPPED: no BTF of a running kernel: %v", err)
	}
	b, err := btf.Parse(data, nil)
	must.OK(t, err)
	return b
}

func TestRunningKernel(t *testing.T) {
	o := fromBTF(t, runningKernel(t))
	data := write(t, o)
	back := must.Get(read(data))(t)
	if !bytes.Equal(data, write(t, back)) {
		t.Error("written differently after a round trip")
	}
	t.Logf("%d nodes, %d items, %d bytes", len(o.Graph.Nodes), len(o.Units[0].Items), len(data))
}

// kindNames lists the kind and name of each item of the only unit.
func kindNames(o *Object) []string {
	var list []string
	for _, id := range o.Units[0].Items {
		n := o.Graph.Node(id)
		k := btf.Kind(n.Kind).String()
		if n.Kind == types.KindStub {
			k = "stub"
		}
		list = append(list, strings.TrimSpace(k+" "+o.Graph.Name(n)))
	}
	slices.Sort(list)
	return list
}

// two returns a blob with two definitions of struct s, each reached by a pointer and its
// own typedef. If swap is set, their ids are exchanged. The parameter a is the number of bytes by
// which the second definition is larger.
func two(swap bool, a uint32) *btf.Blob {
	b := btf.NewBuilder(nil, nil, nil)
	i := b.Int("int", 4, btf.IntSigned, 0)
	sizes := []uint32{16, 16 + a}
	if swap {
		sizes[0], sizes[1] = sizes[1], sizes[0]
	}
	var ptrs [2]uint32
	for n, size := range sizes {
		ptrs[n] = b.Ref(btf.KindPtr, "", b.NextID()+1)
		b.Composite(btf.KindStruct, "s", size, false,
			btf.Member{NameOff: b.Name("i"), Type: i}, btf.Member{NameOff: b.Name("next"), Type: ptrs[n],
				Offset: 64})
	}
	if swap {
		ptrs[0], ptrs[1] = ptrs[1], ptrs[0]
	}
	b.Ref(btf.KindTypedef, "first", ptrs[0])
	b.Ref(btf.KindTypedef, "second", ptrs[1])
	return b.Finish()
}

func TestSeveralDefinitions(t *testing.T) {
	o := fromBTF(t, two(false, 8))
	g := o.Graph
	pointee := func(typedef string) *types.Node {
		for _, id := range o.Units[0].Items {
			if n := g.Node(id); n.Kind == types.KindTypedef && g.Name(n) == typedef {
				return g.Node(g.Node(n.Ref).Ref)
			}
		}
		t.Fatalf("no typedef %s", typedef)
		return nil
	}
	for typedef, size := range map[string]uint32{"first": 16, "second": 24} {
		stub := pointee(typedef)
		if stub.Kind != types.KindStub || stub.Size != 1 {
			t.Fatalf("%s does not lead to a pinned stub", typedef)
		}
		if def := g.Node(stub.Ref); def.Size != size || def.Kind != types.KindStruct {
			t.Errorf("%s leads to a definition of %d bytes, want %d", typedef, def.Size, size)
		} else if next := g.Node(g.Node(g.ElemsOf(def)[1].Ref).Ref); next.Ref != stub.Ref {
			t.Errorf("the definition to which %s leads refers to the other one", typedef)
		}
	}
	if !bytes.Equal(write(t, o), write(t, fromBTF(t, two(true, 8)))) {
		t.Error("the order of the definitions changes the bytes")
	}
}

func TestEqualDefinitionsAreOne(t *testing.T) {
	o := fromBTF(t, two(false, 0))
	want := []string{"INT int", "PTR", "STRUCT s", "TYPEDEF first", "TYPEDEF second"}
	if got := kindNames(o); !slices.Equal(got, want) {
		t.Errorf("items %q, want %q", got, want)
	}
	for i := range o.Graph.Nodes {
		if n := &o.Graph.Nodes[i]; n.Kind == types.KindStub && n.Size == 1 {
			t.Errorf("stub %q is pinned", o.Graph.Name(n))
		}
	}
}

// ring returns a blob of n definitions of struct s, each with a pointer to the next one, and the
// last with a pointer to the first. All have the same size except those listed in special.
func ring(n int, special ...int) *btf.Blob {
	b := btf.NewBuilder(nil, nil, nil)
	for i := range n {
		size := uint32(8)
		if slices.Contains(special, i) {
			size = 16
		}
		b.Composite(btf.KindStruct, "s", size, false,
			btf.Member{NameOff: b.Name("next"), Type: 2*uint32(i) + 2})
		b.Ref(btf.KindPtr, "", 2*uint32((i+1)%n)+1)
	}
	return b.Finish()
}

func TestRings(t *testing.T) {
	tests := []struct {
		name    string
		n       int
		special []int
		structs int
	}{
		{"all alike", 6, nil, 1},
		{"one differs", 6, []int{0}, 6},
		{"period 2", 6, []int{0, 2, 4}, 2},
		{"period 3", 6, []int{1, 4}, 3},
		{"mirrored but not alike", 5, []int{0, 1}, 5},
		{"long", 301, []int{7}, 301},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := fromBTF(t, ring(tt.n, tt.special...))
			n := 0
			for _, s := range kindNames(o) {
				if s == "STRUCT s" {
					n++
				}
			}
			if n != tt.structs {
				t.Errorf("%d definitions, want %d", n, tt.structs)
			}
			rotated := slices.Clone(tt.special)
			for i := range rotated {
				rotated[i] = (rotated[i] + 2) % tt.n
			}
			data := write(t, o)
			if !bytes.Equal(data, write(t, fromBTF(t, ring(tt.n, rotated...)))) {
				t.Error("the start of the ring changes the bytes")
			}
			back := must.Get(read(data))(t)
			if !bytes.Equal(data, write(t, back)) {
				t.Error("written differently after a round trip")
			}
		})
	}
	// A ring that occurs twice, in one blob or in two, gives the same definitions as one ring.
	twice := fromBTF(t, ring(12, 0, 6))
	if once := fromBTF(t, ring(6, 0)); !bytes.Equal(write(t, once), write(t, twice)) {
		t.Error("a ring that goes around twice differs from one that goes around once")
	}
}

func TestForwards(t *testing.T) {
	b := btf.NewBuilder(nil, nil, nil)
	b.Ref(btf.KindPtr, "", b.Fwd("lone", false))
	b.Fwd("u", true)
	b.Enum(btf.KindEnum, "e", 4, false)
	b.Fwd("known", false)
	b.Composite(btf.KindStruct, "known", 4, false)
	o := fromBTF(t, b.Finish())
	want := []string{"PTR", "STRUCT known", "stub e", "stub known", "stub lone", "stub u"}
	if got := kindNames(o); !slices.Equal(got, want) {
		t.Fatalf("items %q, want %q", got, want)
	}
	back := must.Get(read(write(t, o)))(t)
	if got := kindNames(back); !slices.Equal(got, want) {
		t.Errorf("read items %q, want %q", got, want)
	}
}

func TestSplit(t *testing.T) {
	base := btf.NewBuilder(nil, nil, nil)
	i := base.Int("int", 4, btf.IntSigned, 0)
	td := base.Ref(btf.KindTypedef, "s32", i)
	st := base.Composite(btf.KindStruct, "task", 4, false,
		btf.Member{NameOff: base.Name("pid"), Type: td})
	below := base.Finish()
	top := btf.NewBuilder(nil, below, nil)
	ptr := top.Ref(btf.KindPtr, "", st)
	mod := top.Composite(btf.KindStruct, "mod", 8, false,
		btf.Member{NameOff: top.Name("pid"), Type: ptr})

	o := New(amd64, 0)
	ids := must.Get(o.AddBTF(Chain(top.Finish())...))(t)
	g := o.Graph
	if len(o.Units) != 2 || len(o.Units[0].Items) != 3 || len(o.Units[1].Items) != 2 {
		t.Fatalf("units %+v, want 3 and 2 items", o.Units)
	}
	for id, want := range map[uint32]string{i: "int", td: "s32", st: "task", mod: "mod"} {
		if got := g.Name(g.Node(ids[id])); got != want {
			t.Errorf("[%d] is %q, want %q", id, got, want)
		}
	}
	member := g.ElemsOf(g.Node(ids[mod]))[0]
	if g.Strs.String(member.Name) != "pid" || g.Node(g.Node(member.Ref).Ref).Kind != types.KindStub {
		t.Error("the member does not have the base's name, or its type is no pointer to a stub")
	}
}

func TestRefusedBTF(t *testing.T) {
	deep := func(n int) *btf.Blob {
		b := btf.NewBuilder(nil, nil, nil)
		for i := range uint32(n) {
			b.Ref(btf.KindPtr, "", i)
		}
		return b.Finish()
	}
	build := func(f func(b *btf.Builder)) *btf.Blob {
		b := btf.NewBuilder(nil, nil, nil)
		f(b)
		return b.Finish()
	}
	tests := []struct {
		name string
		blob *btf.Blob
		want string
	}{
		{"pointer to itself", build(func(b *btf.Builder) { b.Ref(btf.KindPtr, "", 1) }),
			"[1] PTR: contains itself"},
		{"typedef cycle", build(func(b *btf.Builder) {
			b.Ref(btf.KindTypedef, "a", 2)
			b.Ref(btf.KindConst, "", 1)
		}), "contains itself through [1]"},
		{"anonymous struct in itself", build(func(b *btf.Builder) {
			b.Composite(btf.KindStruct, "", 8, false, btf.Member{Type: 2})
			b.Ref(btf.KindPtr, "", 1)
		}), "contains itself"},
		{"too deep", deep(types.MaxDepth + 1), "nests more than"},
		{"no such type", build(func(b *btf.Builder) { b.Ref(btf.KindPtr, "", 9) }),
			"refers to type [9], but the last type is [1]"},
		{"pointer to a function record", build(func(b *btf.Builder) {
			b.Func("f", b.FuncProto(0), 0)
			b.Ref(btf.KindPtr, "", 2)
		}), "[3] PTR: must not refer to [2] (FUNC)"},
		{"function of an int", build(func(b *btf.Builder) { b.Func("f", b.Int("int", 4, 0, 0), 0) }),
			"[2] FUNC: must not refer to [1] (INT)"},
		{"nameless forward", build(func(b *btf.Builder) { b.Fwd("", false) }), "has no name"},
		{"name out of range", build(func(b *btf.Builder) {
			b.Add(btf.Type{Kind: btf.KindFwd,
				NameOff: 77})
		}), "string offset 77"},
		{"sites", build(func(b *btf.Builder) {
			b.FuncProto(0)
			b.Locsec("inline.text", btf.Site{Func: b.Func("f", 1, 0), LocProto: b.LocProto()})
		}), "[3] LOC_PROTO: sites of inlined functions can't be linked; use BTF without them"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := FromBTF(amd64, tt.blob)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
	if _, err := FromBTF(amd64, deep(types.MaxDepth)); err != nil {
		t.Errorf("as deep as allowed: %v", err)
	}
}

func TestOverlappingNames(t *testing.T) {
	b := &btf.Blob{StartID: 1, Strings: "\x00" + strings.Repeat("x", 1<<16) + "\x00"}
	for i := range uint32(1 << 12) {
		b.Types = append(b.Types, btf.Type{Kind: btf.KindFwd, NameOff: 1 + i})
	}
	if _, err := FromBTF(amd64, b); err == nil || !strings.Contains(err.Error(), "overlap") {
		t.Errorf("error %v, want one about overlapping names", err)
	}
}

// TestModifiers reads chains of typedefs, qualifiers and type tags, in any order, that are as long
// as the kernel allows. They come from objects, and from BTF with part of a chain in a base. Chains
// that are longer by one are refused.
func TestModifiers(t *testing.T) {
	kinds := []btf.Kind{btf.KindConst, btf.KindTypedef, btf.KindVolatile, btf.KindTypeTag,
		btf.KindRestrict}
	row := func(kind func(i int) btf.Kind, n int, down bool) *btf.Blob {
		b := btf.NewBuilder(nil, nil, nil)
		b.Int("int", 4, 0, 32)
		for i := range n {
			to := uint32(i + 1)
			if down {
				to = uint32(i + 3)
			}
			if down && i == n-1 {
				to = 1
			}
			k, name := kind(i), ""
			if k == btf.KindTypedef || k == btf.KindTypeTag {
				name = fmt.Sprintf("t%d", i)
			}
			b.Ref(k, name, to)
		}
		return b.Finish()
	}
	refuses := func(what string, n int, err error) {
		t.Helper()
		const want = "begins a chain of more than 32 typedefs and qualifiers"
		if n <= btf.MaxModifiers && err != nil || n > btf.MaxModifiers && (err == nil ||
			!strings.HasPrefix(err.Error(), "BTF type [") || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s, %d in a row: error %v", what, n, err)
		}
	}
	for _, c := range []struct {
		what string
		kind func(i int) btf.Kind
	}{
		{"typedefs", func(int) btf.Kind { return btf.KindTypedef }},
		{"const", func(int) btf.Kind { return btf.KindConst }},
		{"type tags", func(int) btf.Kind { return btf.KindTypeTag }},
		{"all kinds", func(i int) btf.Kind { return kinds[i%len(kinds)] }},
	} {
		for _, n := range []int{btf.MaxModifiers, btf.MaxModifiers + 1, 1100} {
			for _, down := range []bool{false, true} {
				_, err := FromBTF(amd64, row(c.kind, n, down))
				if n == 1100 {
					if err == nil {
						t.Errorf("%s: %d in a row are read", c.what, n)
					}
					continue
				}
				refuses(c.what, n, err)
				b := btf.NewBuilder(nil, row(c.kind, n-1, down), nil)
				top := uint32(n)
				if down {
					top = 2
				}
				b.Ref(btf.KindVolatile, "", top)
				_, err = FromBTF(amd64, b.Finish())
				refuses(c.what+" of a base and one", n, err)
			}
		}
	}
}

// TestModifiersInCycle: a typedef that leads to itself does not end a chain.
func TestModifiersInCycle(t *testing.T) {
	for n := range 2 {
		b := btf.NewBuilder(nil, nil, nil)
		b.Ref(btf.KindPtr, "", 3) // 1: a pointer to a function that returns t
		b.Ref(btf.KindTypedef, "t", 4)
		b.FuncProto(2)
		for i := range uint32(15) { // t is a chain of 16 modifiers, after 16 or 17 others
			to := 5 + i
			if i == 14 {
				to = 1
			}
			b.Ref(btf.KindConst, "", to)
		}
		to := uint32(2)
		for range btf.MaxModifiers - 16 + n {
			to = b.Ref(btf.KindVolatile, "", to)
		}
		_, err := FromBTF(amd64, b.Finish())
		if fits := n == 0; fits != (err == nil) {
			t.Errorf("%d more: error %v", n, err)
		}
	}
}

// TestModifiersOfObjects: objects with longer chains, which no tool writes, are refused by
// absorbers and by Read.
func TestModifiersOfObjects(t *testing.T) {
	for _, n := range []int{btf.MaxModifiers, btf.MaxModifiers + 1} {
		o := New(amd64, features.Default())
		id := o.Graph.Add(types.Node{Kind: types.KindInt, Size: 4, Aux: 32,
			Name: o.Graph.Strs.Intern([]byte("int"))}, nil)
		for i := range n {
			id = o.Graph.Add(types.Node{Kind: types.KindTypedef, Ref: id,
				Name: o.Graph.Strs.Intern(fmt.Appendf(nil, "t%d", i))}, nil)
		}
		o.Units = []Unit{{Count: 1, Items: []types.ID{id}}}
		data := write(t, o)
		_, err := read(data)
		a, _ := newAbsorber()
		a.file = data
		_, ok, _ := a.take("object")
		if fits := n == btf.MaxModifiers; fits != (err == nil) || fits != ok {
			t.Errorf("%d typedefs: error %v, absorbed %v", n, err, ok)
		}
	}
}
