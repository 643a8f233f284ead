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

// TestReport compares BTF that C can't express. TestReportOfC has what it can.
func TestReport(t *testing.T) {
	type change = func(w *builder)
	for _, c := range []struct {
		name string
		a, b change
		want string // the lines, joined by |
	}{
		{"nothing", nil, nil, ""},
		{"linkage",
			func(w *builder) { w.Func("f", w.FuncProto(0), btf.LinkageStatic) },
			func(w *builder) { w.Func("f", w.FuncProto(0), btf.LinkageGlobal) },
			"differs: func f: linkage static vs global"},
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
