package kabi

import (
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/inspect/diff"
)

// TestRules has a row for each rule.
func TestRules(t *testing.T) {
	const f = "void f(struct s *s) {}"
	for _, c := range []struct{ name, a, b, want string }{
		{"a hole", "struct s { char c; long x; };" + f, "struct s { char c; int n; long x; };" + f, `
			struct s: ok (1: f → struct s)
			ok added member n: in a hole`},
		{"the padding",
			"struct s { long x; char c; };" + f, "struct s { long x; char c; int n; };" + f, `
			struct s: ok (1: f → struct s)
			ok added member n: in the padding at the end`},
		{"bits in a hole", "struct s { unsigned a:3; unsigned :0; int x; };" + f,
			"struct s { unsigned a:3, b:4; unsigned :0; int x; };" + f, `
			struct s: ok (1: f → struct s)
			ok added member b: in a hole`},
		{"the end", "struct s { long x; };" + f, "struct s { long x, y; };" + f, `
			struct s: ok (1: f → struct s)
			ok added member y: at the end
			ok size : larger, but no type contains it (modules must not allocate it)`},
		{"the end of what another struct contains",
			"struct s { long x; }; struct h { struct s s; };" + f +
				"void g(struct h *h) {}", "struct s { long x, y; }; struct h { struct s s; };" + f +
				"void g(struct h *h) {}", `
			struct s: breaks (2: f → struct s)
			ok added member y: at the end
			breaks size : larger, and struct h contains it`},
		{"the end of what an array contains",
			"struct s { long x; }; struct h { struct s *s; }; struct s v[2];",
			"struct s { long x, y; }; struct s v[2];", `
			struct s: breaks (1: v → struct s)
			ok added member y: at the end
			breaks size : larger, and variable v contains it`},
		{"the end of a variable", "struct s { long x; } v;", "struct s { long x, y; } v;", `
			struct s: breaks (1: v → struct s)
			ok added member y: at the end
			breaks size : larger, and variable v contains it`},
		{"the end of a parameter", "struct s { long x; }; void f(struct s s) {}",
			"struct s { long x, y; }; void f(struct s s) {}", `
			struct s: breaks (1: f → struct s)
			ok added member y: at the end
			breaks size : larger, and a parameter contains it`},
		{"the end of a typedef", "typedef struct { long x; } t; void f(t *x) {}",
			"typedef struct { long x, y; } t; void f(t *x) {}", `
			typedef t: ok (1: f → typedef t)
			ok added member y: at the end
			ok size : larger, but no type contains it (modules must not allocate it)`},
		{"smaller", "struct s { long x, y; };" + f, "struct s { long x; };" + f, `
			struct s: breaks (1: f → struct s)
			breaks removed member y: gone
			breaks size : smaller`},
		{"a member in between", "struct s { long x, y; };" + f, "struct s { long x, z, y; };" + f, `
			struct s: breaks (1: f → struct s)
			ok added member z: in the place of y
			breaks moved member y: in a different place
			ok size : larger, but no type contains it (modules must not allocate it)`},
		{"a member of a union", "union u { long x; }; void f(union u *u) {}",
			"union u { long x; int y; }; void f(union u *u) {}", `
			union u: ok (1: f → union u)
			ok added member y: one more member of a union`},
		{"a union that has grown", "union u { long x; }; void f(union u *u) {}",
			"union u { long x; long y[2]; }; void f(union u *u) {}", `
			union u: ok (1: f → union u)
			ok added member y: one more member of a union
			ok size : larger, but no type contains it (modules must not allocate it)`},
		{"into a union", "struct s { long x; };" + f, "struct s { union { long x; int y; }; };" + f, `
			struct s: ok (1: f → struct s)
			ok moved member x: same offset
			ok added member y: in the place of x`},
		{"renamed", "struct s { long x; };" + f, "struct s { long y; };" + f, `
			struct s: ok (1: f → struct s)
			ok renamed member x: only the name differs`},
		{"retyped", "struct s { long x; };" + f, "struct s { unsigned long x; };" + f, `
			struct s: breaks (1: f → struct s)
			breaks retyped member x: different type`},
		{"qualifiers and names", "struct s { char *x; unsigned long y; };" + f,
			"typedef unsigned long u64; struct s { const char *x; u64 y; };" + f, `
			struct s: ok (1: f → struct s)
			ok retyped member x: only qualifiers or names differ
			ok retyped member y: only qualifiers or names differ`},
		{"a pointer to void", "struct p { int i; }; struct s { void *x; struct p *y; };" + f,
			"struct p { int i; }; struct s { struct p *x; void *y; };" + f, `
			struct s: breaks (1: f → struct s)
			ok retyped member x: it was a pointer to void
			breaks retyped member y: different type`},
		{"an enum and an integer", "enum e { A }; struct s { enum e e; };" + f,
			"struct s { unsigned e; };" + f, `
			struct s: ok (1: f → struct s)
			ok retyped member e: an enum and an integer of the same size`},
		{"another struct", "struct a { int i; }; struct b { int i; }; struct s { struct a *p; };" + f,
			"struct a { int i; }; struct b { int i; }; struct s { struct b *p; };" + f, `
			struct s: breaks (1: f → struct s)
			breaks retyped member p: different type`},
		{"a bitfield", "struct s { unsigned a:3; };" + f, "struct s { unsigned a:4; };" + f, `
			struct s: breaks (1: f → struct s)
			breaks resized member a: different size`},
		{"an array", "struct s { int a[2]; int b; };" + f, "struct s { int a[3]; };" + f, `
			struct s: breaks (1: f → struct s)
			breaks retyped member a: different type
			breaks removed member b: gone`},
		{"a pointer to a function",
			"struct s { int (*p)(int); };" + f, "struct s { int (*p)(int, int); };" + f, `
			struct s: breaks (1: f → struct s)
			breaks retyped member p: different type`},
		{"a qualifier in a pointer to a function", "struct s { int (*p)(char *); };" + f,
			"struct s { int (*p)(const char *); };" + f, `
			struct s: ok (1: f → struct s)
			ok retyped member p, parameter 1: only qualifiers or names differ`},
		{"an enumerator",
			"enum e { A, B }; void f(enum e e) {}", "enum e { A, B, C }; void f(enum e e) {}", `
			enum e: ok (1: f → enum e)
			ok added enumerator C: one more`},
		{"an enumerator in between", "enum e { A, C }; void f(enum e e) {}",
			"enum e { A, B, C }; void f(enum e e) {}", `
			enum e: breaks (1: f → enum e)
			ok added enumerator B: one more
			breaks value enumerator C: different value`},
		{"enumerators",
			"enum e { A, B, C }; void f(enum e e) {}", "enum e { A, X, D = -1 }; void f(enum e e) {}", `
			enum e: breaks (1: f → enum e)
			ok renamed enumerator B: only the name differs
			breaks removed enumerator C: gone
			ok added enumerator D: one more
			ok encoding : same bits`},
		{"a larger enum",
			"enum e { A }; void f(enum e e) {}", "enum e { A, B = 1L << 40 }; void f(enum e e) {}", `
			func f: breaks
			breaks retyped parameter 1 e: different type`},
		{"parameters",
			"int f(int a, long b) { return a; }", "int f(int x, long b, char c) { return x; }", `
			func f: breaks
			ok renamed parameter 1 a: only the name differs
			breaks added parameter 3 c: callers don't pass it`},
		{"types of a function", "int f(int a, char *b) { return a; } void g(void *p) {}",
			"long f(int a, const char *b) { return a; } void g(char *p) {}", `
			func f: breaks
			breaks retyped return: different type
			ok retyped parameter 2 b: only qualifiers or names differ
			func g: ok
			ok retyped parameter 1 p: it was a pointer to void`},
		{"a declaration", "struct d; struct s { struct d *p; };" + f,
			"struct d { int i; }; struct s { struct d *p; };" + f, `
			struct s: ok (1: f → struct s)
			ok declared member p: A only declares it`},
		{"only a declaration", "struct d { int i; }; struct s { struct d *p; };" + f,
			"struct d; struct s { struct d *p; };" + f, `
			struct s: breaks (1: f → struct s)
			breaks declared member p: B only declares it, so its content can't be compared`},
		{"only a declaration, and a qualifier",
			"struct d { int i; }; struct s { struct d *p; };" + f,
			"struct d; struct s { const struct d *p; };" + f, `
			struct s: breaks (1: f → struct s)
			breaks retyped member p: different type`},
		{"a typedef",
			"typedef int t; struct s { t x; char c; };" + f,
			"typedef long t; struct s { t x; char c; };" + f, `
			typedef t: breaks (1: f → struct s.x → typedef t)
			breaks retyped : different type`},
		{"the sign of char", "struct s { char c; };" + f, "struct s { unsigned char c; };" + f, `
			struct s: breaks (1: f → struct s)
			breaks retyped member c: different type`},
		{"a variable", "int v; void f(void) {}", "long v; void f(void) {}", `
			var v: breaks
			breaks retyped : different type`},
		{"symbols", "int v; void f(void) {}", "void f(void) {} void g(void) {}", `
			var v: breaks, only in A
			func g: ok, only in B`},
		{"other functions",
			"void f(void) {} void other(int a) {}", "void f(void) {} void other(long a) {}", `
			`},
		{"what contains what has grown",
			"struct s { int i; }; struct h { struct s s; int x; }; struct o { struct h h; };" +
				"void g(struct o *o) {}",
			"struct s { long i; }; struct h { struct s s; int x; }; struct o { struct h h; };" +
				"void g(struct o *o) {}", `
			struct s: breaks (1: g → struct o.h → struct h.s → struct s)
			breaks retyped member i: different type
			breaks size : larger, and struct h contains it`},
	} {
		checkRule(t, c.name, c.a, c.b, c.want)
	}
}

func checkRule(t *testing.T, name, a, b, want string) {
	t.Helper()
	_, r, err := Compare(FromSide(diff.Side{compile(t, a)}), FromSide(diff.Side{compile(t, b)}),
		[2]string{"A", "B"}, Options{Symbols: symbols(t, "f g v")})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	want = strings.ReplaceAll(strings.TrimSpace(want), "\n\t\t\t", "\n")
	if got := describe(r.Differences); got != want {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}
