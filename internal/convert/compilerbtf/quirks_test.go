package compilerbtf

import (
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestSame converts sources for which gcc's BTF says as much as the DWARF. The objects must be
// identical, whatever quirks the BTF has.
func TestSame(t *testing.T) {
	programtest.NeedGCC16(t)
	for _, c := range []struct{ name, source string }{
		{"the index type of an array is long unsigned int, or void without a bound", `
			extern int open[];
			int three[3], grid[2][5]; int *f(void) { return open; }
			struct flex { int n; char rest[]; } *flex;`},
		{"an extern array gets its bound later", `
			extern int late[]; int late[5] = { 1 };
			int f(void) { return late[1]; }`},
		{"functions and variables that are only declared", `
			struct s { int a; };
			extern int declared(struct s *); extern struct s other;
			int f(void) { return declared(&other); }`},
		{"functions are global and static, in the format and in the object", `
			int global_one(int a) { return a; }
			static __attribute__((noipa, used)) int static_one(int a) { return a; }`},
		{"several declarations with other parameter names", `
			int f(int, char *); int f(int first, char *second);
			int f(int a, char *b) { return a + *b; }
			int f(int x, char *y);`},
		{"sections have size 0, and names that the compiler chooses", `
			int zero, one = 1; const int two = 2; static int three = 3;
			int *f(void) { return &three; }`},
		{"per-CPU variables in their sections", `
			__attribute__((section(".data..percpu"))) int counter;
			static __attribute__((section(".data..percpu..shared_aligned"), used)) long state;
			int ordinary;`},
		{"variables in registers, thread-local ones, ones without a size", `
			register long stack asm("rsp");
			__thread int mine; struct empty {} nothing;
			long f(void) { return stack + mine; }`},
		{"an enum that is only declared has size 0", `
			enum later; struct holder { enum later *p; } h;
			void f(enum later *e) { }`},
		{"enums of all sizes and signs", `
			enum small { A = 1 } __attribute__((packed)) a;
			enum plain { B, C = 7 } b; enum negative { D = -1, E } d;
			enum wide { F = 0x1ffffffffULL } f; enum low { G = -0x1ffffffffLL } g;
			enum { NAMELESS = 3 } n;`},
		{"bitfields", `
			struct bits { int a : 3; unsigned b : 5; int : 0; char c; _Bool d : 1; long long e : 40; } b;
			struct none { int a; char b; } n;
			union mix { int a : 7; long whole; } m;`},
		{"declaration tags on members of structs without a name", `
			#define T(x) __attribute__((btf_decl_tag(x)))
			typedef struct { int a T("a"); int b : 3 T("b") T("c");
				union { int u T("u"); struct { char c T("in"); }; }; } by_typedef;
			struct outer { struct { int y T("y"); }; struct { int z T("z"); } array[2] T("array"); };
			struct other { struct { int y T("other"); } m; } *o;
			int f(by_typedef *t, struct outer *o) { return t->a; }`},
		{"declaration tags on members of a tag that is defined in several ways", `
			#define T(x) __attribute__((btf_decl_tag(x)))
			struct s { long l T("l"); } file; struct other { int a T("other"); } o;
			int f(struct s *p, struct other *q) {
				struct s { int a T("t"), b T("f"); struct s *next; } x = { 1, 2 }, *r = &x;
				asm volatile("" :: "r"(r)); return r->b;
			}
			int h(void) {
				struct s { int a T("t"), b, c T("h"); } x = { 1, 2, 3 }, *r = &x;
				asm volatile("" :: "r"(r)); return r->c;
			}`},
		{"types that are declared before they are defined, or never defined", `
			struct later; union other; struct first { struct later *l; union other *o; } f;
			struct later { struct first *back; int a; };
			union other { int i; char c; } o; struct unknown *u;`},
		{"anonymous members, arrays of pointers to functions, qualifiers", `
			struct outer { struct { int a; union { int b; long c; }; }; struct { int z; } named; } o;
			int (*table[3])(struct outer *, ...); const volatile int cv = 1;
			struct outer *const *volatile cvp; int *restrict r;
			int vla(int n, int a[n], int (*m)[n]) { return a[0] + (*m)[0]; }
			typedef void (*callback)(callback_arg); `},
		{"numbers", `
			char c; signed char sc; unsigned char uc; short s; unsigned long long ull; _Bool b;
			float fl; double d; long double ld; __int128 big; unsigned __int128 ubig;
			_Complex double cd; _Complex long double pair; _Float128 f128;`},
		{"prototypes without parameters, in the old style, with a variable number", `
			int none() { return 1; } int old(a, b) int a; char b; { return a + b; }
			int nothing(void) { return 2; } int many(const char *s, ...) { return *s; }`},
		{"weak functions, and an alias", `
			__attribute__((weak)) int lost(int a) { return a; }
			int target(int z) { return z; } int alias(int z) __attribute__((alias("target")));`},
		{"a weak function with a global alias, a strong one with a weak alias", `
			__attribute__((weak)) int weak(int a) { return a; }
			int of_weak(int a) __attribute__((alias("weak")));
			int strong(int a) { return a + 1; }
			__attribute__((weak)) int of_strong(int a) __attribute__((alias("strong")));`},
		{"structs by value, packed and not", `
			struct __attribute__((packed)) pk { char c; long l; }; struct pair { long a, b; };
			long packed(long a, long b, long c, long d, long e, long f, struct pk p) { return p.l; }
			long plain(long a, long b, long c, long d, long e, struct pair p) { return p.a; }`},
		{"tags", `
			#define D(x) __attribute__((btf_decl_tag(x)))
			#define T(x) __attribute__((btf_type_tag(x)))
			struct s { int m D("member"); int T("one") *p; int T("a") T("b") *q; };
			struct s v D("variable"); typedef int t D("typedef"); t tv;
			D("function") int f(int a D("parameter")) { return a; }`},
		{"no types", `/* nothing */`},
		{"typedefs, used and not", `
			typedef unsigned long size_t; typedef struct { int x; } anonymous; typedef anonymous again;
			anonymous *p; again a; size_t n;`},
	} {
		source := strings.ReplaceAll(c.source, "callback_arg", "struct outer *")
		for _, flags := range []string{"-O0", "-O2 -fdata-sections -fcommon"} {
			t.Run(c.name+" "+flags, func(t *testing.T) {
				w := newWorkspace(t)
				w.compile("a", source, flags)
				w.sameBytes("a")
				w.Features = features.All().Without(features.TrueSignature)
				w.sameBytes("a")
				w.Features = features.Of(features.GlobalVar)
				w.sameBytes("a")
			})
		}
	}
}

// TestDifferences converts sources with something that gcc's BTF doesn't express, and checks how
// the results differ.
func TestDifferences(t *testing.T) {
	programtest.NeedGCC16(t)
	for _, c := range []struct {
		name, source, flags string
		want                []string // differences from what DWARF gives
		skipped             []string
		warning             string
	}{
		{"types of a block", `
			int f(int a) { struct local { int l; } x = { a }; enum { IN_F } e = IN_F; return x.l + e; }`,
			"-O0", []string{"only in A: enum (anon) {IN_F}", "only in A: struct local"}, nil, ""},
		{"vectors", `typedef int v4 __attribute__((vector_size(16))); v4 vector;`, "-O2",
			[]string{"differs: typedef v4: type int[4] vs void", "only in A: int int",
				"only in A: var vector"},
			[]string{"vector: no variable of file scope in the debug information"},
			"typedef v4 is void in the BTF"},
		{"declaration tags on variables of vector types and that of nullptr", `
			#define T(x) __attribute__((btf_decl_tag(x)))
			int vector __attribute__((vector_size(16))) T("on a vector"); int plain T("plain");
			__typeof__(nullptr) null T("on nullptr");`, "-O2 -std=gnu23",
			[]string{`only in A: decl_tag "on a vector" on var vector`,
				`only in A: decl_tag "on nullptr" on var null`, "only in A: var null",
				"only in A: var vector"},
			[]string{"null: no variable of file scope in the debug information",
				"vector: no variable of file scope in the debug information"},
			`declaration tag "on a vector" refers to void in the BTF`},
		{"an unnamed bitfield as the first member", `
			struct s { int : 2; int x : 3; int y : 4; } s; struct t { int : 8; void *p; } t;
			struct in_order { int a : 1; int : 4; int b : 2; } o;`, "-O2",
			[]string{"differs: struct s: member x: offset 0:2 vs 0:0",
				"differs: struct t: member p: offset 8 vs 0"}, nil, ""},
		{"clones with a changed interface", `
			struct s { int a, b; };
			static __attribute__((noinline)) int clone(struct s *p, int unused) { return p->a; }
			int f(struct s *p) { return clone(p, 1) + clone(p + 1, 2); }`, "-O2", nil,
			[]string{"clone: unknown parameters of a clone"}, ""},
		{"numbers that gcc leaves out", `_Float16 half; struct s { int a; } s;`, "-O2", nil,
			[]string{"half: no variable of file scope in the debug information"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorkspace(t)
			w.Features = w.Features.With(features.GlobalVar)
			w.compile("a", c.source, c.flags)
			fromDWARF, _ := w.link(w.Facts("a.d.o"), w.convert("a.d.o", false))
			o, warnings := w.convertWith("a.b.o", true, optionsOf(w))
			fromBTF, res := w.link(w.Facts("a.b.o"), o)
			var got []string
			for _, d := range differences(fromDWARF, fromBTF) {
				if !strings.Contains(d, "half") && !strings.Contains(d, "datasec") &&
					!strings.Contains(d, "_Float16") {
					got = append(got, d)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("differences %q\nwant %q", got, c.want)
			}
			var skipped []string
			for _, s := range res.Skipped {
				skipped = append(skipped, s.Name+": "+s.Reason)
			}
			if !slices.Equal(skipped, c.skipped) {
				t.Errorf("skipped %q, want %q", skipped, c.skipped)
			}
			if joined := strings.Join(warnings, "\n"); c.warning == "" && joined != "" ||
				!strings.Contains(joined, c.warning) {
				t.Errorf("warnings %q, want %q", joined, c.warning)
			}
		})
	}
}
