package random

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// macros precedes each C source of linkedPrograms.
const macros = `
#define noinline __attribute__((noinline))
#define weak __attribute__((weak))
#define alias(f) __attribute__((alias(#f)))
#define hidden __attribute__((visibility("hidden")))
extern volatile int sink;
`

// TestKnownLinked compares the ways of making BTF from linkedPrograms. It builds each program with
// gcc and with clang, for other flags, linkers and features than the programs beside it.
func TestKnownLinked(t *testing.T) {
	tools := toolsUnderTest(t, "gcc", "clang", "ld", "ld.lld", "ar")
	compilers := [][]string{
		{"gcc -O2 -gdwarf-5", "gcc -O2 -gdwarf-4", "gcc -O2 -gbtf", "gcc -O0 -gdwarf-5"},
		{"clang -O2 -gdwarf-5", "clang -O0 -gdwarf-5", "clang -O2 -gdwarf-4"},
	}
	linkers := []string{"ld", "ld --gc-sections", "ld --gc-sections -Ttext=0",
		"ld.lld --gc-sections", "mold --gc-sections"}
	features := []string{"default,-consistent_func", "default,-optimized_func",
		"default,-consistent_func,-optimized_func", "default,true_signature",
		"default,true_signature,-optimized_func", "default,global_var", "none"}
	cache := t.TempDir()
	for n, program := range linkedPrograms {
		for k, flags := range compilers {
			compiler := strings.Fields(flags[n%len(flags)])
			if compiler[2] == "-gbtf" && (program.dwarf || gccVersion() < 16) {
				compiler[2] = "-gdwarf-5"
			}
			linker := strings.Fields(linkers[(n+2*k)%len(linkers)])
			if program.linkers != nil {
				linker = strings.Fields(program.linkers[k])
			}
			if linker[0] == "mold" && (program.variables || !harness.Has("mold")) {
				linker = strings.Fields(linkers[1]) // mold makes globals local
			}
			o := Options{Compilers: compiler[:1], Opt: compiler[1], DWARF: compiler[2:],
				Sections: true, Linker: linker[0], LinkFlags: linker[1:],
				Features: features[(n+3*k)%len(features)]}
			t.Run(fmt.Sprint(program.name, ": ", o), func(t *testing.T) {
				t.Parallel()
				p := programOf(program.sources)
				for _, u := range p.Units {
					if strings.HasSuffix(u.Path, ".c") {
						u.root.text = macros + u.root.text
					}
				}
				p.Archive, p.Exact = strings.Fields(program.archive), true
				b := must.Get(NewBuild(p, o, 0, t.TempDir(), cache, tools))(t)
				checks := []func(*Build) error{checkFeatures, checkFunctions, checkDefinitions}
				if program.variables {
					checks[0] = checkGlobals
				} else if len(o.LinkFlags) == 0 {
					checks[0] = checkGraph
				}
				if o.has("-gbtf") {
					checks = checks[:1]
				}
				for _, check := range checks {
					if err := (Check{run: check}).Run(b); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// linkedPrograms are programs in which several functions or variables have the same name, or a
// function has several symbols. The entry point is the function start. --gc-sections drops what
// start doesn't reach.
var linkedPrograms = []struct {
	name      string
	sources   map[string]string
	variables bool     // not functions
	dwarf     bool     // the BTF that compilers write doesn't distinguish its functions
	linkers   []string // instead of the usual ones
	archive   string   // the objects, separated by blanks, that are in an archive
}{
	{name: "dropped static with a global alias, linked weak", sources: map[string]string{
		"a.c": `static noinline int f0(int a) { return sink = a; } extern int g0(int) alias(f0);`,
		"b.c": `weak long f0(long a, long b) { return sink = a + b; }`,
		"m.c": `volatile int sink; long f0(long, long); void start(void) { f0(sink, 1); }`,
	}},
	{name: "dropped static, linked weak", sources: map[string]string{
		"a.c": `static noinline int f0(int a) { return sink = a; } int g0(int a) { return f0(a); }
			void used(void) { sink = 1; }`,
		"b.c": `weak long f0(long a, long b) { return sink = a + b; }`,
		"m.c": `volatile int sink; long f0(long, long); void used(void);
			void start(void) { used(); f0(sink, 1); }`,
	}},
	{name: "linked static, dropped global", sources: map[string]string{
		"a.c": `static noinline int f0(int a) { return sink = a; } int g0(int a) { return f0(a); }`,
		"b.c": `long f0(long a, long b) { return sink = a + b; } void used(void) { sink = 1; }`,
		"m.c": `volatile int sink; int g0(int); void used(void);
			void start(void) { used(); g0(sink); }`,
	}},
	{name: "weak and strong", dwarf: true, sources: map[string]string{
		"a.c": `weak int f0(int a) { return sink = a; } weak int f1(int a) { return sink = a + 1; }
			void used(void) { sink = 1; }`,
		"b.c": `long f0(long a, long b) { return sink = a + b; }`,
		"c.c": `long f1(long a, long b) { return sink = a - b; }`,
		"m.c": `volatile int sink; long f0(long, long); void used(void);
			void start(void) { used(); f0(sink, 1); }`,
	}},
	{name: "two weak ones", sources: map[string]string{
		"a.c": `weak int f0(int a) { return sink = a; } void used(void) { sink = 1; }`,
		"b.c": `weak int f0(int b) { return sink = b + 1; } void used2(void) { sink = 2; }`,
		"m.c": `volatile int sink; int f0(int); void used(void); void used2(void);
			void start(void) { used(); used2(); f0(sink); }`,
	}},
	{name: "weak ones with aliases", dwarf: true, sources: map[string]string{
		"a.c": `weak int f0(int a) { return sink = a; } extern int base_of(int) alias(f0);
			extern int my_f0(int) alias(f0);`,
		"b.c": `long f0(long a, long b) { return sink = a + b; }`,
		"m.c": `volatile int sink; long f0(long, long); int base_of(int);
			void start(void) { base_of(sink); f0(sink, 1); }`,
	}},
	{name: "hidden weak and strong", dwarf: true, sources: map[string]string{
		"a.c": `hidden weak int f0(int a) { return sink = a; } void used(void) { sink = 1; }`,
		"b.c": `hidden long f0(long a, long b) { return sink = a + b; }`,
		"m.c": `volatile int sink; long f0(long, long); void used(void);
			void start(void) { used(); f0(sink, 1); }`,
	}},
	{name: "statics of one name", sources: map[string]string{
		"a.c": `static noinline int f0(int a) { return sink = a; } int g0(int a) { return f0(a); }
			static noinline int f1(int a) { return sink = a; } int g1(int a) { return f1(a); }
			static noinline int f2(int a) { return sink = a; } int g2(int a) { return f2(a); }`,
		"b.c": `static noinline long f0(long a, long b) { return sink = a + b; }
			long h0(long a) { return f0(a, sink); } void used(void) { sink = 1; }
			static noinline int f1(int a) { return sink = a + 3; } int h1(int a) { return f1(a); }
			static noinline long f2(long a) { return sink = a + 3; } int h2(int a) { return f2(a); }`,
		"m.c": `volatile int sink; int g0(int); int g1(int); int g2(int); int h2(int); void used(void);
			void start(void) { used(); g0(sink); g1(sink); g2(sink); h2(sink); }`,
	}},
	{name: "statics of one name in files of one name", dwarf: true, sources: map[string]string{
		"d1/core.c": `static noinline int f0(int a) { return sink = a; } int g0(int a) { return f0(a); }
			static noinline int one(int a) { return sink = a; } int g1(int a) { return one(a); }`,
		"d2/core.c": `static noinline long f0(long a, long b) { return sink = a + b; }
			long h0(long a) { return f0(a, sink); }
			static noinline int two(int a) { return sink = a; } int h1(int a) { return two(a); }`,
		"m.c": `volatile int sink; int g0(int); int g1(int); int h1(int);
			void start(void) { g0(sink); g1(sink); h1(sink); }`,
	}},
	{name: "an assembler's function", dwarf: true, sources: map[string]string{
		"a.c": `static noinline int f0(int a) { return sink = a; } int g0(int a) { return f0(a); }
			static noinline int f1(int a) { return sink = a; } extern int g1(int) alias(f1);
			void used(void) { sink = 1; }`,
		"b.s": `.section .text.f0,"ax",@progbits; .globl f0, f1; .type f0, @function; f0: ret
			.type f1, @function; f1: ret`,
		"m.c": `volatile int sink; int f0(int); int f1(int); void used(void);
			void start(void) { used(); f0(sink); f1(sink); }`,
	}},
	// With -g (for _g.S), GNU as describes functions in DWARF, but weak functions as if they were
	// local.
	{name: "described functions of assembler", dwarf: true, sources: map[string]string{
		"a.c": `static noinline int own1(int a) { return sink = a; } int g0(int a) { return own1(a); }`,
		"b_g.S": `.section .text.f0,"ax",@progbits; .globl own0; .weak f0; own0: f0: ret
			.type own0, @function; .type f0, @function; .size own0, 1; .size f0, 1
			.section .text.f1,"ax",@progbits; .weak f1; own1: f1: ret
			.type own1, @function; .type f1, @function; .size own1, 1; .size f1, 1`,
		"m.c": `volatile int sink; void f0(void); void own0(void); void f1(void); int g0(int);
			void start(void) { f0(); own0(); f1(); g0(sink); }`,
	}},
	{name: "clones", sources: map[string]string{
		"a.c": `static noinline int f0(int a, int b, int c) { return sink = a * b + c; }
			int g0(int a) { return f0(a, 7, a); } int dead0(int a) { return f0(a, a, 3); }
			static noinline int f1(int a, int b) { return sink = a * b; }
			int g1(int a) { return f1(3, a); } int dead1(int a) { return f1(a, a); }
			static noinline int f2(int a, int b) { return sink = a * b + 2; }
			int g2(int a) { return f2(a, a + 1); } int dead2(int a) { return f2(3, a); }
			static noinline int f3(int *a, int b) { return sink = *a * b + 2; }
			int g3(int a) { return f3(&a, a + 1); }
			static noinline int f4(int a, int b) { return sink = b; }
			int g4(int a) { return f4(a, a + 1); }`,
		"b.c": `static noinline long f0(long b) { return sink = b; } long h0(long b) { return f0(b); }`,
		"m.c": `volatile int sink; int g0(int); int g1(int); int g2(int); int g3(int); int g4(int);
			void start(void) { g0(sink); g1(sink); g2(sink); g3(sink); g4(sink); }`,
	}},
	{name: "clones of a global function", sources: map[string]string{
		"a.c": `noinline int f0(int a, int b, int c) { return sink = a * b + c; }
			int g0(int a) { return f0(a, 7, 5) + f0(3, 4, a); }
			noinline int f1(int a, int b) { return sink = a * b; }
			int dead1(int a) { return f1(3, a); } int g1(int a) { return f1(a, a); }`,
		"b.c": `static noinline long f0(long a) { return sink = a + 2; } void h0(void) { f0(sink); }
			static noinline long f1(long a) { return sink = a + 2; } void h1(void) { f1(sink); }`,
		"m.c": `volatile int sink; int g0(int); int g1(int); void h0(void); void start(void)
			{ g0(sink); g1(sink); h0(); }`,
	}},
	{name: "parts that were split off", sources: map[string]string{
		"a.c": `int slow(int); void abort_it(void) __attribute__((cold, noreturn));
			static int f0(int *p, int b) { if (!p) return 0; sink = *p; sink = *p + b; sink = b;
				for (int i = 0; i < b; i++) { sink = p[i]; slow(p[i]); } return sink; }
			int g0(int *p) { return f0(p, sink); } int g1(int *p) { return f0(p, 1 + sink); }
			int dead(int *p) { return f0(p, 2 + sink) + f0(p, 9); }
			int f1(int a) { if (__builtin_expect(a < 0, 0)) { sink = a; abort_it(); } return a; }`,
		"b.c": `volatile int sink; int slow(int a) { return sink += a; }
			__attribute__((cold, noreturn)) void abort_it(void) { for (;;) sink = 1; }
			static noinline long f0(long a) { return sink = a; } int h0(int a) { return f0(a); }`,
		"m.c": `extern volatile int sink; int x[3]; int g0(int *); int g1(int *); int f1(int);
			void start(void) { g0(x); g1(x); f1(sink); }`,
	}},
	{name: "a unit that was dropped", sources: map[string]string{
		"a.c": `struct gone { int a; }; static noinline int f0(struct gone *a) { return sink = a->a; }
			static void *table[] __attribute__((used)) = {f0};`,
		"b.c": `struct gone2 { int a; }; int f1(struct gone2 *a) { return sink = a->a; }
			static noinline int f2(struct gone2 *a) { return sink = a->a; }
			int f3(struct gone2 *a) { return f2(a); }`,
		"m.c": `volatile int sink; static noinline long f2(long a) { return sink = a; }
			void start(void) { f2(sink); }`,
	}},
	{name: "functions without code", sources: map[string]string{
		"a.c": `static int f0(int a) { return sink = a; } int g0(int a) { return f0(a); }
			static noinline int f1(int a) { return sink = a * 3; } int g1(int a) { return f1(a); }
			static noinline int f3(int a) { return sink = a * 3; } int g3(int a) { return f3(a); }`,
		"b.c": `static int f0(long a, long b) { return sink = a + b; } int h0(void)
			{ return f0(sink, 3); } long f1(long a, long b) { return sink = a + b; }
			long f2(long a, long b) { return sink = a + b; }`,
		"m.c": `volatile int sink; int g0(int); int h0(void); long f1(long, long); long f2(long, long);
			int g3(int); void start(void) { g0(sink); h0(); f1(sink, 1); f2(sink, 2); g3(sink); }`,
	}},
	{name: "unnamed parameters", sources: map[string]string{
		"a.c": `int f0(int) { return sink; } int f1(int a, long) { return sink = a; }
			int f2(int a, ...) { return sink = a; } int f3(int, ...) { return sink; }
			static noinline int f4(int) { return sink; } int g4(int a) { return f4(a); }`,
		"m.c": `volatile int sink; int f0(int); int f1(int, long); int f2(int, ...); int f3(int, ...);
			int g4(int);
			void start(void) { f0(1); f1(1, 2); f2(1, 2); f3(1, 2); g4(sink); }`,
	}},
	{name: "variables of one name", variables: true, sources: map[string]string{
		"a.c": `int v0 = 1; weak int v1 = 1; static int v2 = 1; static int v3 = 1;
			int *g0(void) { return &v2; } int *g1(void) { return &v3; } int *g2(void) { return &v1; }`,
		"b.c": `static long v0 = 1; long v1 = 1; long v2 = 1; long v3 = 1;
			long *h0(void) { return &v0; } long *h1(void) { return &v1; } long *h2(void) { return &v2; }
			long *h3(void) { return &v3; }`,
		"m.c": `volatile int sink; int *g1(void); long *h0(void); long *h1(void); long *h2(void);
			void start(void) { sink = *g1() + *h0() + *h1() + *h2(); }`,
	}},
	{name: "units of which only data is left", sources: map[string]string{
		"data.c": `struct data { int a; }; struct data v0 = {1};
			int f0(struct data *a) { return sink = a->a; }`,
		"table.c": `struct table { int a; }; static const struct table v1[] = {{1}, {2}};
			const struct table *const v2 = v1; int f1(int i) { return sink = v1[i].a; }`,
		"static.c": `struct called { int a; }; struct called v3 = {1};
			static noinline int f2(struct called *a) { return sink = a->a; }
			void *v4 __attribute__((section("dropped"))) = f2;`,
		"inlined.c": `struct inlined { int a; }; struct inlined v5 = {1};
			static inline __attribute__((always_inline)) int f3(struct inlined *a)
			{ return sink = a->a; } int f4(void) { return f3(&v5); } int f5(void) { return f3(&v5); }`,
		"types.c": `struct types { int a; }; struct types v6 = {1};`,
		"m.c": `volatile int sink; extern int v0, v3, v6; extern int *const v2; int f5(void);
			void start(void) { sink = v0 + *v2 + v3 + v6 + f5(); }`,
	}},
	{name: "weak definitions of which another is linked", dwarf: true, sources: map[string]string{
		"part.c": `struct weak0 { int a; }; weak struct weak0 v0 = {1}; struct weak0 v1 = {1};
			weak int f0(struct weak0 *a) { return sink = a->a; }`,
		"strong.c": `struct strong { int a; }; struct strong v0 = {1}; int f0(void) { return sink; }`,
		"all.c":    `struct weak1 { int a; }; weak int f0(struct weak1 *a) { return sink = a->a; }`,
		"m.c": `volatile int sink; extern int v0, v1; int f0(void);
			void start(void) { sink = v0 + v1 + f0(); }`,
	}},
	{name: "units of which nothing is left", sources: map[string]string{
		"all.c": `struct all { int a; }; int f0(struct all *a) { return sink = a->a; }
			struct all v0 = {1};`,
		"static.c": `struct called { int a; };
			static noinline int f1(struct called *a) { return sink = a->a; }
			static int (*v1)(struct called *) = f1; int (**v2)(struct called *) = &v1;`,
		"local.c": `struct local { int a; }; static __attribute__((used)) struct local v3 = {1};`,
		"types.c": `struct types { int a; }; struct types v4 = {1};`,
		"m.c":     `volatile int sink; void start(void) { sink = 1; }`,
	}},
	{name: "units of one name, of which parts are left", sources: map[string]string{
		"d1/core.c": `struct one { int a; }; struct one v0 = {1};
			int f0(struct one *a) { return sink = a->a; }`,
		"d2/core.c": `struct two { int a; }; int f1(struct two *a) { return sink = a->a; }`,
		"d3/core.c": `struct three { int a; }; struct three v1 = {1};`,
		"m.c": `volatile int sink; extern int v0, v1; int f1(int *); void start(void)
			{ sink = v0 + v1 + f1(&v1); }`,
	}},
	{name: "members of an archive", archive: "no.o d1/core.o d2/core.o data.o dup.o",
		sources: map[string]string{
			"no.c":      `struct no { int a; }; int f0(struct no *a) { return sink = a->a; }`,
			"d1/core.c": `struct one { int a; }; int f1(struct one *a) { return sink = a->a; }`,
			"d2/core.c": `struct two { int a; }; int f2(struct two *a) { return sink = a->a; }`,
			"d3/core.c": `struct three { int a; }; struct three v0 = {1};`,
			"data.c": `struct data { int a; }; struct data v1 = {1};
				int f3(struct data *a) { return sink = a->a; }`,
			"dup.c": `struct dup { int a; }; long f4(struct dup *a, long b) { return sink = a->a + b; }`,
			"m.c": `volatile int sink; extern int v0, v1; int f1(int *);
				noinline int f4(int a) { return sink = a; } void start(void)
				{ sink = v0 + v1 + f1(&v1) + f4(3); }`,
		}},
	{name: "two hidden weak ones", dwarf: true, sources: map[string]string{
		// Nothing shows which of the two types is linked: the symbol is local, even if it was weak.
		"a.c": `hidden weak int f0(int a) { return sink = a; } void used(void) { sink = 1; }`,
		"b.c": `hidden weak int f0(int b) { return sink = b + 2; } void used2(void) { sink = 2; }`,
		"m.c": `volatile int sink; int f0(int); void used(void); void used2(void);
			void start(void) { used(); used2(); f0(sink); }`,
	}},
	{name: "two weak ones of several types", dwarf: true, sources: map[string]string{
		"a.c": `weak int f0(int a) { return sink = a; } void used(void) { sink = 1; }`,
		"b.c": `weak long f0(long a, long b) { return sink = a + b; } void used2(void) { sink = 2; }`,
		"m.c": `volatile int sink; int f0(int); void used(void); void used2(void);
			void start(void) { used(); used2(); f0(sink); }`,
	}},
	{name: "a dropped static with an alias, and an assembler's function", dwarf: true,
		sources: map[string]string{
			"a.c": `static noinline int f0(int a) { return sink = a; } extern int g0(int) alias(f0);
				void used(void) { sink = 1; }`,
			"b.s": `.section .text.f0,"ax",@progbits; .globl f0; .type f0, @function; f0: ret`,
			"m.c": `volatile int sink; int f0(int); void used(void);
				void start(void) { used(); f0(sink); }`,
		}},
	{name: "a dropped static with an alias, and an assembler's local function", dwarf: true,
		sources: map[string]string{
			"a.c": `static noinline int f0(int a) { return sink = a; } extern int g0(int) alias(f0);
				void used(void) { sink = 1; }`,
			"b.s": `.section .text.own,"ax",@progbits; .globl own; .type own, @function;
				.type f0, @function; own: f0: ret`,
			"m.c": `volatile int sink; int own(int); void used(void);
				void start(void) { used(); own(sink); }`,
		}},
	{name: "two hidden weak ones of several types", dwarf: true, sources: map[string]string{
		"a.c": `hidden weak int f0(int a) { return sink = a; } void used(void) { sink = 1; }`,
		"b.c": `hidden weak long f0(long a, long b) { return sink = a + b; }
			void used2(void) { sink = 2; }`,
		"m.c": `volatile int sink; int f0(int); void used(void); void used2(void);
			void start(void) { used(); used2(); f0(sink); }`,
	}},
	{name: "identical functions", linkers: []string{"ld.lld --icf=all", "mold --icf=all"},
		sources: map[string]string{
			"a.c": `int f0(int a) { return sink = a; } int f1(int a) { return sink = a; }
				static noinline int f2(int a) { return sink = a; } int g2(int a) { return f2(a) + 1; }
				struct one { int a; }; int f4(struct one *a) { return sink = a->a; }`,
			"b.c": `int f3(int b) { return sink = b; } static noinline int f2(int a) { return sink = a; }
				int h2(int a) { return f2(a) + 1; } struct two { int a; };
				int f5(struct two *a) { return sink = a->a; }`,
			"m.c": `volatile int sink; int f0(int); int f1(int); int f3(int); int g2(int); int h2(int);
				int f4(void *); int f5(void *);
				void start(void) { f0(sink); f1(sink); f3(sink); g2(sink); h2(sink); f4((void *)&sink);
					f5((void *)&sink); }`,
		}},
}
