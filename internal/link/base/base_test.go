package base_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/linktest"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func parse(t *testing.T, b *btf.Blob) base.Base {
	t.Helper()
	p := must.Get(base.Parse(b))(t)
	return p
}

func hash(b *linktest.Builder, id types.ID) types.Hash { return b.Graph.Node(id).Hash }

// In these tests, vmlinux is the lower BTF of the chain, and module is based on it.
func vmlinux() *btf.Builder {
	b := btf.NewBuilder(nil, nil, nil)
	b.Int("int", 4, 1, 32)      // 1
	b.Fwd("one", false)         // 2
	b.Ref(btf.KindPtr, "", 2)   // 3
	b.Composite(btf.KindStruct, // 4
		"two", 8, false, btf.Member{NameOff: b.Name("m0"), Type: 3})
	b.Ref(btf.KindPtr, "", 4)                       // 5
	b.Enum(btf.KindEnum, "e", 4, false)             // 6: no enumerators, so a declaration
	b.FuncProto(0, btf.Param{Type: 1}, btf.Param{}) // 7: void (int, ...)
	b.Func("f", 7, 1)                               // 8
	b.DeclTag("whole", 4, ^uint32(0))               // 9
	b.DeclTag("member", 4, 0)                       // 10
	return b
}

func module() *btf.Builder {
	b := btf.NewBuilder(nil, vmlinux().Finish(), nil)
	m0 := btf.Member{NameOff: b.Name("m0"), Type: 1}
	m1 := btf.Member{NameOff: b.Name("m1"), Type: 1, Offset: 64}
	b.Composite(btf.KindStruct, "one", 8, false, m0)      // 11
	b.Composite(btf.KindStruct, "two", 16, false, m0, m1) // 12
	b.Ref(btf.KindPtr, "", 12)                            // 13: of the same shape as 5
	return b
}

// TestFind: types are found by their shape. In a shape, a tag is only a stub, which doesn't say
// which definition is meant, so several types may be found. They are sorted by id, so the types of
// the lower BTF come first.
func TestFind(t *testing.T) {
	p := parse(t, module().Finish())
	b := linktest.New()
	integer := b.Int("int")
	for _, c := range []struct {
		what  string
		shape types.ID
		want  []uint32
	}{
		{"int", integer, []uint32{1}},
		{"struct one", b.Struct("one", integer), []uint32{11}},
		{"a pointer to struct one, declared", b.Ptr(b.Stub("one")), []uint32{3}},
		{"struct two of the module", b.Struct("two", integer, integer), []uint32{12}},
		{"a pointer to struct two, defined in two ways", b.Ptr(b.Stub("two")), []uint32{5, 13}},
		{"int with another name", b.Int("long"), nil},
		{"the declaration", b.Stub("one"), []uint32{2}},
		{"a function", b.Add(types.Node{Kind: types.KindFunc, Name: b.Str("f"), Aux: 1,
			Ref: b.Add(types.Node{Kind: types.KindFuncProto}, types.Elem{Ref: integer}, types.Elem{})}),
			nil},
	} {
		got := slices.Collect(p.All(hash(b, c.shape)))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s is %d, want %d", c.what, got, c.want)
		}
		if first := p.Find(hash(b, c.shape)); first != append(c.want, 0)[0] {
			t.Errorf("the first %s is %d, want that of %d", c.what, first, c.want)
		}
	}
}

// TestTag looks up the definitions and declarations of a tag in the whole chain.
func TestTag(t *testing.T) {
	low, chain := parse(t, vmlinux().Finish()), parse(t, module().Finish())
	b := linktest.New()
	enum := b.Graph.Stub(types.TagEnum, b.Str("e"))
	union := b.Graph.Stub(types.TagUnion, b.Str("one"))
	for _, c := range []struct {
		what                    string
		base                    base.Base
		stub                    types.ID
		definition, declaration uint32
		count                   int
	}{
		{"struct one, declared", low, b.Stub("one"), 0, 2, 1},
		{"struct one, declared below and defined above", chain, b.Stub("one"), 11, 2, 2},
		{"struct two, defined", low, b.Stub("two"), 4, 0, 1},
		{"struct two, defined in two ways", chain, b.Stub("two"), 4, 0, 2},
		{"enum e without enumerators", chain, enum, 0, 6, 1},
		{"union one, of which there is none", chain, union, 0, 0, 0},
	} {
		definition, declaration, count := c.base.Tag(hash(b, c.stub))
		if definition != c.definition || declaration != c.declaration || count != c.count {
			t.Errorf("%s: definition [%d], declaration [%d], %d of both; want [%d], [%d], %d", c.what,
				definition, declaration, count, c.definition, c.declaration, c.count)
		}
	}
}

// TestRecord looks up types by id. References to types that don't lead to a tag are left out.
func TestRecord(t *testing.T) {
	p := parse(t, module().Finish())
	for _, c := range []struct {
		what     string
		id       uint32
		refs     []uint32
		declares bool
	}{
		{"INT", 1, nil, false},
		{"FWD", 2, nil, true},
		{"PTR", 3, []uint32{2}, false},
		{"STRUCT", 4, []uint32{3}, false},
		{"ENUM without enumerators", 6, nil, true},
		{"FUNC_PROTO of int, which leads to no tag", 7, nil, false},
		{"STRUCT of the module, of int", 12, nil, false},
		{"PTR of the module", 13, []uint32{12}, false},
	} {
		if got := p.Refs(c.id, nil); !slices.Equal(got, c.refs) {
			t.Errorf("%s [%d] refers to %d, want %d", c.what, c.id, got, c.refs)
		}
		if got := p.Declares(c.id); got != c.declares {
			t.Errorf("%s [%d] declares: %v", c.what, c.id, got)
		}
	}
	if got := p.Refs(3, []uint32{7}); !slices.Equal(got, []uint32{7, 2}) {
		t.Errorf("Refs appended to [7] gives %d", got)
	}
}

func TestHasDeclTag(t *testing.T) {
	p := parse(t, module().Finish())
	for _, c := range []struct {
		value             string
		target, component uint32
		flag, want        bool
	}{
		{"whole", 4, 0, false, true},
		{"whole", 4, 0, true, false},
		{"whole", 4, 1, false, false},
		{"whole", 12, 0, false, false},
		{"member", 4, 1, false, true},
		{"member", 4, 0, false, false},
		{"other", 4, 0, false, false},
	} {
		if got := p.HasDeclTag([]byte(c.value), c.target, c.component, c.flag); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestString: String returns the smallest offset of a string in the chain. The ids and offsets of
// BTF that is linked on the chain begin at Ends.
func TestString(t *testing.T) {
	low := &btf.Blob{StartID: 1, Strings: "\x00int\x00two\x00int\x00"}
	high := &btf.Blob{StartID: 1, BaseStrLen: 13, Strings: "two\x00three\x00", Base: low}
	p := parse(t, high)
	for s, want := range map[string]uint32{"int": 1, "two": 5, "three": 17, "": 0, "hree": 0,
		"four": 0} {
		if got := p.String([]byte(s)); got != want {
			t.Errorf("%q is at %d, want %d", s, got, want)
		}
	}
	if id, offset := p.Ends(); id != 1 || offset != 23 {
		t.Errorf("the first own id is %d, the first own offset %d; want 1, 23", id, offset)
	}
	if id, _ := parse(t, module().Finish()).Ends(); id != 14 {
		t.Errorf("the first own id is %d, want 14", id)
	}
}

// TestLayers: a layer's digest depends only on which shapes the layer has, not on their order, on
// how often each occurs, or on other layers.
func TestLayers(t *testing.T) {
	layers := parse(t, module().Finish()).Layers()
	if len(layers) != 2 || layers[0] == layers[1] {
		t.Fatalf("layers %v, want two different ones", layers)
	}
	if low := parse(t, vmlinux().Finish()).Layers(); len(low) != 1 || low[0] != layers[0] {
		t.Error("the digest of a BTF depends on what is based on the BTF")
	}
	x, y, z := types.Hash{A: 1}, types.Hash{B: 2}, types.Hash{A: 3}
	sum := base.Digest([]types.Hash{x, y})
	if sum != base.Digest([]types.Hash{y, x, x}) {
		t.Error("the digest depends on the order, or on how often a shape occurs")
	}
	if sum == base.Digest([]types.Hash{x, z}) || sum == base.Digest([]types.Hash{x}) {
		t.Error("different shapes have the same digest")
	}
}

func TestIDHash(t *testing.T) {
	if one, again := base.IDHash(1), base.IDHash(1); one != again || one == base.IDHash(2) {
		t.Error("an id has two hashes, or two ids have the same hash")
	}
}

// TestHostile: a base that no tool would write is either usable or refused with a one-line error.
// It never causes a panic.
func TestHostile(t *testing.T) {
	for _, c := range []struct {
		what  string
		build func(b *btf.Builder)
		fails bool
	}{
		{"nothing", func(b *btf.Builder) {}, false},
		{"a reference to a type that there isn't",
			func(b *btf.Builder) { b.Ref(btf.KindPtr, "", 99) }, true},
		{"a pointer to itself", func(b *btf.Builder) { b.Ref(btf.KindPtr, "", 1) }, true},
		{"a struct that holds itself", func(b *btf.Builder) {
			b.Composite(btf.KindStruct, "s", 8, false, btf.Member{NameOff: b.Name("m"), Type: 1})
		}, true},
		{"a name beyond the strings",
			func(b *btf.Builder) { b.Add(btf.Type{Kind: btf.KindTypedef, NameOff: 1 << 30}) }, true},
		{"a long chain of pointers", func(b *btf.Builder) {
			for i := range uint32(100_000) {
				b.Ref(btf.KindPtr, "", i)
			}
		}, true},
		{"many types with the same shape", func(b *btf.Builder) {
			for range 100_000 {
				b.Int("int", 4, 1, 32)
			}
		}, false},
	} {
		b := btf.NewBuilder(nil, nil, nil)
		c.build(b)
		p, err := base.Parse(b.Finish())
		if (err != nil) != c.fails {
			t.Errorf("%s: error %v, want one: %v", c.what, err, c.fails)
			continue
		}
		if err != nil {
			continue
		}
		end, _ := p.Ends()
		for id := uint32(1); id < end; id++ {
			p.Declares(id)
			for _, r := range p.Refs(id, nil) {
				if r >= end {
					t.Fatalf("%s: [%d] refers to [%d]", c.what, id, r)
				}
			}
		}
	}
}

// ExampleBase shows how a link looks up the types with a given shape in a base.
func ExampleBase() {
	p, err := base.Parse(module().Finish())
	if err != nil {
		panic(err)
	}
	b := linktest.New()
	for id := range p.All(hash(b, b.Ptr(b.Stub("two")))) {
		fmt.Printf("PTR [%d] to [%d]\n", id, p.Refs(id, nil))
	}
	// Output:
	// PTR [5] to [[4]]
	// PTR [13] to [[12]]
}
