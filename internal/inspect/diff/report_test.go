package diff

import (
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// builder makes a blob; its fields are the ids of the blob's base types.
type builder struct {
	*btf.Builder
	i, u, long uint32
}

func blob(change func(w *builder)) *btf.Blob {
	w := &builder{Builder: btf.NewBuilder(nil, nil, nil)}
	w.i = w.Int("int", 4, btf.IntSigned, 0)
	w.u = w.Int("unsigned int", 4, 0, 0)
	w.long = w.Int("long", 8, btf.IntSigned, 0)
	w.Ref(btf.KindTypedef, "u32", w.u)
	if change != nil {
		change(w)
	}
	return w.Finish()
}

func (w *builder) m(name string, typ, off uint32) btf.Member {
	return btf.Member{NameOff: w.Name(name), Type: typ, Offset: off}
}

func TestReport(t *testing.T) {
	type change = func(w *builder)
	for _, c := range []struct {
		name string
		a, b change
		want string // the lines, joined by |
	}{
		{"nothing", nil, nil, ""},
		{"only in A", func(w *builder) { w.Composite(btf.KindStruct, "foo", 0, false) }, nil,
			"only in A: struct foo"},
		{"only in B", nil, func(w *builder) { w.Enum(btf.KindEnum, "e", 4, false) }, "only in B: enum e"},
		{"different kinds",
			func(w *builder) { w.Composite(btf.KindStruct, "foo", 0, false) },
			func(w *builder) { w.Composite(btf.KindUnion, "foo", 0, false) },
			"only in A: struct foo|only in B: union foo"},
		{"member's type",
			func(w *builder) { w.Composite(btf.KindStruct, "foo", 4, false, w.m("bar", w.i, 0)) },
			func(w *builder) { w.Composite(btf.KindStruct, "foo", 4, false, w.m("bar", w.u, 0)) },
			"differs: struct foo: member bar: type int vs unsigned int"},
		{"member of an anonymous member",
			func(w *builder) {
				in := w.Composite(btf.KindUnion, "", 8, false, w.m("x", w.i, 0), w.m("baz", w.u+2, 0))
				w.Composite(btf.KindStruct, "foo", 8, false, w.m("bar", in, 0))
			},
			func(w *builder) {
				in := w.Composite(btf.KindUnion, "", 8, false, w.m("x", w.i, 0), w.m("baz", w.long, 0))
				w.Composite(btf.KindStruct, "foo", 8, false, w.m("bar", in, 0))
			},
			"differs: struct foo: member bar.baz: type u32 vs long"},
		{"pointer to const",
			func(w *builder) {
				w.Composite(btf.KindStruct, "foo", 8, false, w.m("p", w.Ref(btf.KindPtr, "", w.i), 0))
			},
			func(w *builder) {
				w.Composite(btf.KindStruct, "foo", 8, false,
					w.m("p", w.Ref(btf.KindPtr, "", w.Ref(btf.KindConst, "", w.i)), 0))
			},
			"differs: struct foo: member p: type int * vs const int *"},
		{"size",
			func(w *builder) { w.Composite(btf.KindStruct, "foo", 4, false, w.m("a", w.i, 0)) },
			func(w *builder) { w.Composite(btf.KindStruct, "foo", 8, false, w.m("a", w.i, 0)) },
			"differs: struct foo: size 4 vs 8"},
		{"new member and size",
			func(w *builder) { w.Composite(btf.KindStruct, "foo", 4, false, w.m("a", w.i, 0)) },
			func(w *builder) {
				w.Composite(btf.KindStruct, "foo", 8, false, w.m("a", w.i, 0),
					w.m("b", w.i, 32))
			},
			"differs: struct foo: member b: only in B (size 4 vs 8)"},
		{"members in a different order",
			func(w *builder) {
				w.Composite(btf.KindUnion, "foo", 4, false, w.m("a", w.i, 0),
					w.m("b", w.i, 0))
			},
			func(w *builder) {
				w.Composite(btf.KindUnion, "foo", 4, false, w.m("b", w.i, 0),
					w.m("a", w.i, 0))
			},
			"differs: union foo: the order of the members differs"},
		{"bitfield",
			func(w *builder) { w.Composite(btf.KindStruct, "foo", 4, true, w.m("a", w.i, 3<<24)) },
			func(w *builder) { w.Composite(btf.KindStruct, "foo", 4, true, w.m("a", w.i, 5<<24)) },
			"differs: struct foo: member a: size 3 bits vs 5 bits"},
		{"enum values",
			func(w *builder) {
				w.Enum(btf.KindEnum, "e", 4, true, btf.Enumerator{NameOff: w.Name("X"), Value: ^uint64(0)})
			},
			func(w *builder) {
				w.Enum(btf.KindEnum, "e", 4, true, btf.Enumerator{NameOff: w.Name("X"), Value: 1})
			},
			"differs: enum e: enumerator X: -1 vs 1"},
		{"linkage",
			func(w *builder) { w.Func("f", w.FuncProto(0), btf.LinkageStatic) },
			func(w *builder) { w.Func("f", w.FuncProto(0), btf.LinkageGlobal) },
			"differs: func f: linkage static vs global"},
		{"parameters",
			func(w *builder) { w.Func("f", w.FuncProto(0, btf.Param{NameOff: w.Name("x"), Type: w.i}), 0) },
			func(w *builder) { w.Func("f", w.FuncProto(0), 0) },
			"differs: func f: parameter 1 x: only in A"},
		{"parameter's type",
			func(w *builder) { w.Func("f", w.FuncProto(0, btf.Param{NameOff: w.Name("x"), Type: w.i}), 0) },
			func(w *builder) { w.Func("f", w.FuncProto(0, btf.Param{NameOff: w.Name("x"), Type: w.u}), 0) },
			"differs: func f: parameter 1 x: type int vs unsigned int"},
		{"return type",
			func(w *builder) { w.Func("f", w.FuncProto(w.i), 0) },
			func(w *builder) { w.Func("f", w.FuncProto(0), 0) },
			"differs: func f: return: type int vs void"},
		{"array",
			func(w *builder) { w.Var("v", w.Array(w.i, w.i, 3), 1) },
			func(w *builder) { w.Var("v", w.Array(w.i, w.i, 4), 1) },
			"differs: var v: type int[3] vs int[4]"},
		{"index type",
			func(w *builder) { w.Var("v", w.Array(w.i, w.i, 3), 1) },
			func(w *builder) { w.Var("v", w.Array(w.i, w.long, 3), 1) },
			"differs: var v: index: type int vs long"},
		{"datasec",
			func(w *builder) {
				w.Datasec(".data", 8, btf.Secinfo{Type: w.Var("v", w.i, 1), Offset: 0, Size: 4})
			},
			func(w *builder) {
				w.Datasec(".data", 8, btf.Secinfo{Type: w.Var("v", w.i, 1), Offset: 4, Size: 4})
			},
			"differs: datasec .data: entry v: offset 0 vs 4"},
		{"tags",
			func(w *builder) { w.DeclTag("kfunc", w.Func("f", w.FuncProto(0), 0), btf.DeclTagWhole) },
			func(w *builder) { w.Func("f", w.FuncProto(0), 0) },
			`only in A: decl_tag "kfunc" on func f`},
		{"declared only",
			func(w *builder) {
				w.Composite(btf.KindStruct, "foo", 8, false,
					w.m("p", w.Ref(btf.KindPtr, "", w.Fwd("bar", false)), 0))
			},
			func(w *builder) {
				bar := w.Composite(btf.KindStruct, "bar", 0, false)
				w.Composite(btf.KindStruct, "foo", 8, false, w.m("p", w.Ref(btf.KindPtr, "", bar), 0))
			},
			"forward: forward struct bar: only in A|" +
				"forward: struct foo: member p: type struct bar (declared) * vs struct bar *|" +
				"only in B: struct bar"},
		{"indirect",
			func(w *builder) {
				bar := w.Composite(btf.KindStruct, "bar", 4, false, w.m("x", w.i, 0))
				w.Composite(btf.KindStruct, "foo", 4, false, w.m("b", bar, 0))
			},
			func(w *builder) {
				bar := w.Composite(btf.KindStruct, "bar", 4, false, w.m("x", w.u, 0))
				w.Composite(btf.KindStruct, "foo", 4, false, w.m("b", bar, 0))
			},
			"differs: struct bar: member x: type int vs unsigned int"},
		{"several definitions are a set",
			func(w *builder) {
				w.Composite(btf.KindStruct, "foo", 4, false, w.m("x", w.i, 0))
				w.Composite(btf.KindStruct, "foo", 8, false, w.m("y", w.long, 0))
			},
			func(w *builder) {
				w.Composite(btf.KindStruct, "foo", 8, false, w.m("y", w.long, 0))
				w.Composite(btf.KindStruct, "foo", 4, false, w.m("x", w.i, 0))
				w.Composite(btf.KindStruct, "foo", 4, false, w.m("x", w.i, 0))
			},
			""},
		{"one more definition",
			func(w *builder) {
				w.Composite(btf.KindStruct, "foo", 4, false, w.m("x", w.i, 0))
				w.Composite(btf.KindStruct, "foo", 8, false, w.m("y", w.long, 0))
			},
			func(w *builder) { w.Composite(btf.KindStruct, "foo", 8, false, w.m("y", w.long, 0)) },
			"only in A: struct foo: an additional definition; the other side has only 1"},
		{"a reference to a different one of several definitions",
			func(w *builder) {
				one := w.Composite(btf.KindStruct, "foo", 4, false, w.m("x", w.i, 0))
				w.Composite(btf.KindStruct, "foo", 8, false, w.m("y", w.long, 0))
				w.Ref(btf.KindTypedef, "t", one)
			},
			func(w *builder) {
				w.Composite(btf.KindStruct, "foo", 4, false, w.m("x", w.i, 0))
				two := w.Composite(btf.KindStruct, "foo", 8, false, w.m("y", w.long, 0))
				w.Ref(btf.KindTypedef, "t", two)
			},
			"differs: typedef t: refers to different definitions of struct foo"},
		{"unreferenced anonymous enum",
			func(w *builder) { w.Enum(btf.KindEnum, "", 4, false, btf.Enumerator{NameOff: w.Name("A")}) },
			func(w *builder) { w.Enum(btf.KindEnum, "", 4, false, btf.Enumerator{NameOff: w.Name("B")}) },
			"only in A: enum (anon) {A}|only in B: enum (anon) {B}"},
		{"unreferenced pointer", func(w *builder) { w.Ref(btf.KindPtr, "", w.i) }, nil, ""},
	} {
		d, s := Compare(Side{blob(c.a)}, Side{blob(c.b)}, Options{})
		var lines []string
		for _, x := range d {
			lines = append(lines, x.String())
		}
		if got := strings.Join(lines, "|"); got != c.want || s.Same() != (c.want == "") {
			t.Errorf("%s:\n got  %s\n want %s\n %v", c.name, got, c.want, s)
		}
	}
}

// TestSplit compares split BTF; one side repeats a typedef of the base.
func TestSplit(t *testing.T) {
	base := blob(nil)
	build := func(redundant bool, base *btf.Blob) *btf.Blob {
		b := btf.NewBuilder(nil, base, nil)
		u32 := uint32(4)
		if redundant {
			u32 = b.Ref(btf.KindTypedef, "u32", 2)
		}
		b.Composite(btf.KindStruct, "mod", 4, false, btf.Member{NameOff: b.Name("x"), Type: u32})
		return b.Finish()
	}
	// The same base, with one more type.
	other := blob(func(w *builder) { w.Int("char", 1, 0, 0) })
	for _, x := range []*btf.Blob{build(false, base), build(true, base), build(false, other),
		build(true, other)} {
		if d, s := Compare(Side{build(false, base)}, Side{x}, Options{}); !s.Same() {
			t.Errorf("%v %v", s, d)
		}
	}
	if d, _ := Compare(Side{base}, Side{other},
		Options{Kinds: []btf.Kind{btf.KindStruct}}); len(d) > 0 {
		t.Errorf("only structs are compared: %v", d)
	}
	if d, _ := Compare(Side{base}, Side{other}, Options{}); len(d) != 1 ||
		d[0].String() != "only in B: int char" {
		t.Errorf("bases: %v", d)
	}
	// Two blobs on one side are compared as one.
	one := blob(func(w *builder) { w.Composite(btf.KindStruct, "a", 0, false) })
	two := blob(func(w *builder) { w.Composite(btf.KindStruct, "b", 0, false) })
	both := blob(func(w *builder) {
		w.Composite(btf.KindStruct, "b", 0, false)
		w.Composite(btf.KindStruct, "a", 0, false)
	})
	if d, s := Compare(Side{one, two}, Side{both}, Options{}); !s.Same() {
		t.Errorf("%v %v", s, d)
	}
}
