package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// compile makes the BTF of a C file.
func compile(t *testing.T, src string) *btf.Blob {
	t.Helper()
	f := must.Get(elf.Open(programtest.Compile(t, src, "gcc", "-g", "-O1", "-c")))(t)
	defer f.Close()
	o := must.Get(convert.File(f, convert.Options{Features: features.Default()}))(t)
	merged := must.Get(object.Merge(o.Object))(t)
	linked := must.Get(link.WithUnits(merged, link.Options{Features: merged.Features}))(t)
	b := must.Get(btf.Parse(linked.BTF, nil))(t)
	return b
}

// text is a change as one line: "moved member x: 8 → 16".
func (c Change) text() string {
	s := string(c.Kind)
	if c.Where != "" {
		s += " " + c.Where
	}
	state := func(x *State) string {
		if x == nil {
			return ""
		}
		return x.Text
	}
	return fmt.Sprintf("%s: %s → %s", s, state(c.Before), state(c.After))
}

// TestChanges compares two versions of a header.
func TestChanges(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		want       string // the differences with their changes, one a line
	}{
		{"a member at the end, and what embeds the struct",
			`struct in { int a; }; struct s { long x; struct in in; char c; } s;
			 struct p { struct s *s; } p;`,
			`struct in { int a; int b; }; struct s { long x; struct in in; char c; } s;
			 struct p { struct s *s; } p;`,
			`struct in, breaks, 2 follow-ups
				added member b:  → int b
				size: 4 → 8
			struct p, because of struct in
			struct s, because of struct in
				resized member in: 4 → 8
				moved member c: 12 → 16
				size: 16 → 24`},
		{"an embedded struct has grown, and members are in a different order",
			`struct in { int a; }; struct s { struct in in; int x, y; } s;`,
			`struct in { int a, b; }; struct s { struct in in; int y, x; } s;`,
			`struct in, breaks
				added member b:  → int b
				size: 4 → 8
			struct s, breaks
				resized member in: 4 → 8
				moved member x: 4 → 12
				size: 12 → 16`},
		{"a member in a hole", `struct s { char c; long x; } s;`,
			`struct s { char c; int hole; long x; } s;`,
			`struct s, compatible
				added member hole:  → int hole`},
		{"inserted, removed and retyped members",
			`struct s { int a, b; short *c; long d; } s;`, `struct s { long z; int a; int *c; long d; } s;`,
			`struct s, breaks
				added member z:  → long int z
				moved member a: 0 → 8
				removed member b: int b → 
				retyped member c: short int * → int *
				moved member c: 8 → 16
				moved member d: 16 → 24
				size: 24 → 32`},
		{"renamed", `struct s { int a; int b; } s;`, `struct s { int a; int c; } s;`,
			`struct s, compatible
				renamed member b: b → c`},
		{"into and out of anonymous types",
			`struct s { long state; union { int in; long out; }; } s;`,
			`struct s { union { long state; char c[8]; }; long out; } s;`,
			`struct s, breaks
				moved member state: 0 in no anonymous type → 0 in union
				removed member in: int in → 
				added member c:  → char c[8]
				moved member out: 8 in union → 8 in no anonymous type`},
		{"inside a member of an anonymous type",
			`struct s { long x; struct { int a; int b; } in; } s;`,
			`struct s { struct { long z; int a; int b; } in; long x; } s;`,
			`struct s, breaks
				moved member x: 0 → 16
				added member in.z:  → long int z
				moved member in.a: 0 → 8
				moved member in.b: 4 → 12
				moved member in: 8 → 0
				size: 16 → 24`},
		{"bitfields", `struct s { unsigned a : 3, b : 5; } s;`, `struct s { unsigned a : 4, b : 5; } s;`,
			`struct s, breaks
				resized member a: 3 bits → 4 bits
				moved member b: 0:3 → 0:4`},
		{"enumerators",
			`enum e { A, B, C, LAST = 9 } e;`, `enum e { A, X, B, LAST = 9, D = 10, E = 11 } e;`,
			`enum e, breaks
				added enumerator X:  → 1
				value enumerator B: 1 → 2
				removed enumerator C: 2 → 
				added enumerator D:  → 10
				added enumerator E:  → 11`},
		{"a renamed enumerator", `enum e { A, B } e;`, `enum e { A, C } e;`,
			`enum e, compatible
				renamed enumerator B: B → C`},
		{"the sign of an enum", `enum e { A, B } e;`, `enum e { A, B, N = -1 } e;`,
			`enum e, compatible
				added enumerator N:  → -1
				encoding: unsigned → signed`},
		{"a function pointer", `struct s { int (*f)(int, long); } s;`, `struct s { int (*f)(int); } s;`,
			`struct s, breaks
				retyped member f: int (*)(int, long int) → int (*)(int)`},
		{"a parameter of a function pointer",
			`struct a; struct b; struct s { int (*f)(int x, struct a *y); } s;`,
			`struct a; struct b; struct s { int (*f)(int x, struct b *y); } s;`,
			`struct s, breaks
				retyped member f, parameter 2: struct a (declared) * → struct b (declared) *
			forward struct a: only in A
			forward struct b: only in B`},
		{"parameters of a function",
			`int f(int a, long b, char *c) { return a + b + *c; }`,
			`long f(long b, short *c, int d, int a) { return a + b + *c + d; }`,
			`func f, breaks
				retyped return: int → long int
				added parameter 3 d:  → int d
				moved parameter 1 a: 1 → 4
				retyped parameter 3 c: char * → short int *`},
		{"a renamed parameter", `int f(int a, long b) { return a + b; }`,
			`int f(int x, long b) { return x + b; }`,
			`func f, compatible
				renamed parameter 1 a: a → x`},
		{"a renamed parameter of a different type", `int f(int a, long b) { return a + b; }`,
			`int f(char *x, long b) { return *x + b; }`,
			`func f, breaks
				renamed parameter 1 a: a → x
				retyped parameter 1 a: int → char *`},
		{"a renamed pointer to what is now defined", `struct d; struct s { struct d *p; } s;`,
			`struct d { int i; }; struct s { struct d *q; } s;`,
			`struct s, compatible
				renamed member p: p → q
				declared member p: struct d (declared) * → struct d *
			forward struct d: only in A
			struct d, compatible`},
		{"a typedef", `typedef int t; t x; struct s { t t; } s;`,
			`typedef long t; t x; struct s { t t; } s;`,
			`typedef t, breaks, 1 follow-up
				retyped: int → long int
			struct s, because of typedef t
				resized member t: 4 → 8
				size: 4 → 8`},
	} {
		list, s := Compare(Side{compile(t, c.a)}, Side{compile(t, c.b)}, Options{Indirect: true,
			Kinds: []btf.Kind{btf.KindStruct, btf.KindEnum, btf.KindFunc, btf.KindTypedef, btf.KindFwd}})
		var lines []string
		follow := 0
		for _, d := range list {
			if strings.Contains(d.Type, "(anon)") {
				continue // they are listed because the kind was named
			}
			line := d.Type
			switch {
			case d.Class == Forward && len(d.Changes) == 0:
				line += ": " + d.Note
			case d.Because != "":
				line += ", because of " + d.Because
			case d.Compatible:
				line += ", compatible"
			default:
				line += ", breaks"
			}
			if d.FollowUps > 0 {
				line += ", " + strings.Replace(fmt.Sprintf("%d follow-ups", d.FollowUps), "1 follow-ups",
					"1 follow-up", 1)
			}
			follow += d.FollowUps
			lines = append(lines, line)
			for _, x := range d.Changes {
				lines = append(lines, "\t"+x.text())
			}
		}
		want := strings.ReplaceAll(c.want, "\n\t\t\t", "\n")
		if got := strings.Join(lines, "\n"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, want)
		}
		if follow != s.Indirect {
			t.Errorf("%s: %d follow-ups, but %d indirect differences", c.name, follow, s.Indirect)
		}
	}
}

// TestReportOfC: each difference of two sources has its line.
func TestReportOfC(t *testing.T) {
	const types = `typedef unsigned int u32; struct all { int i; u32 u; long l; char c; } all;`
	var a, b, want []string
	for _, c := range [][]string{ // a declaration in A and in B, and the lines
		{`struct one { int i; } one;`, ``, "only in A: struct one"},
		{``, `enum other { Y } other;`, "only in B: enum other"},
		{`struct kind { int i; } kind;`, `union kind { int i; } kind;`,
			"only in A: struct kind", "only in B: union kind"},
		{`struct type { int bar; } type;`, `struct type { u32 bar; } type;`,
			"differs: struct type: member bar: type int vs u32"},
		{`struct in { union { int x; u32 baz; long l; } bar; } in;`,
			`struct in { union { int x; long baz, l; } bar; } in;`,
			"differs: struct in: member bar.baz: type u32 vs long int"},
		{`struct ptr { int *p; } ptr;`, `struct ptr { const int *p; } ptr;`,
			"differs: struct ptr: member p: type int * vs const int *"},
		{`struct size { int a; } size;`, `struct size { int a; } __attribute__((aligned(8))) size;`,
			"differs: struct size: size 4 vs 8"},
		{`struct more { int a; } more;`, `struct more { int a, b; } more;`,
			"differs: struct more: member b: only in B (size 4 vs 8)"},
		{`union order { int a, b; } order;`, `union order { int b, a; } order;`,
			"differs: union order: the order of the members differs"},
		{`struct bits { int a : 3; } bits;`, `struct bits { int a : 5; } bits;`,
			"differs: struct bits: member a: size 3 bits vs 5 bits"},
		{`enum e { X = -1, Z = -2 } e;`, `enum e { X = 1, Z = -2 } e;`,
			"differs: enum e: enumerator X: -1 vs 1"},
		{`void few(int x) { all.i = x; }`, `void few(void) {}`,
			"differs: func few: parameter 1 x: only in A"},
		{`void of(int x) { all.i = x; }`, `void of(u32 x) { all.i = x; }`,
			"differs: func of: parameter 1 x: type int vs u32"},
		{`int result(void) { return 0; }`, `void result(void) {}`,
			"differs: func result: return: type int vs void"},
		{`struct array { long l; char a[3]; } array;`, `struct array { long l; char a[4]; } array;`,
			"differs: struct array: member a: type char[3] vs char[4]"},
		{`struct to { struct gone *p; } to;`,
			`struct gone { int i; }; struct to { struct gone *p; } to;`,
			"forward: forward struct gone: only in A",
			"forward: struct to: member p: type struct gone (declared) * vs struct gone *",
			"only in B: struct gone"},
		{`struct x { int x; }; struct has { struct x x; } has;`,
			`struct x { u32 x; }; struct has { struct x x; } has;`,
			"differs: struct x: member x: type int vs u32"},
	} {
		a, b, want = append(a, c[0]), append(b, c[1]), append(want, c[2:]...)
	}
	source := func(list []string) Side { return Side{compile(t, types+strings.Join(list, "\n"))} }
	list, _ := Compare(source(a), source(b), Options{})
	var got []string
	for _, d := range list {
		got = append(got, d.String())
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestNoteNamesCause: the note of a follow-up names the reference that leads to its cause, even if
// an earlier reference leads to a different difference.
func TestNoteNamesCause(t *testing.T) {
	const source = `struct z { T a; }; struct y { struct z *z; }; struct x { T a; };
		struct s { struct y *y; struct x *x; } s;`
	list, _ := Compare(Side{compile(t, strings.ReplaceAll(source, "T", "int"))},
		Side{compile(t, strings.ReplaceAll(source, "T", "long"))}, Options{Indirect: true,
			Kinds: []btf.Kind{btf.KindStruct}})
	want := map[string][2]string{
		"struct x": {},
		"struct z": {},
		"struct s": {"struct x", "member x: refers to struct x, which differs"}, // not to struct y
		"struct y": {"struct z", "member z: refers to struct z, which differs"},
	}
	for _, d := range list {
		if got := [2]string{d.Because, d.Note}; got != want[d.Type] {
			t.Errorf("%s: %q, want %q", d.Type, got, want[d.Type])
		}
	}
	if len(list) != len(want) {
		t.Errorf("%d differences, want %d", len(list), len(want))
	}
}
