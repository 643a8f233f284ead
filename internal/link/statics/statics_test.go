package statics

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/link/compiledtest"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// likeFiles are programs of several files with the same base name, each with a static variable
// "state" of the same size.
var likeFiles = []struct {
	name    string
	sources map[string]string
}{
	{"other tags", map[string]string{
		"d1/core.c": `struct one { int a; long b; }; static PERCPU struct one state;
			long f1(void) { return state.b; }`,
		"d2/core.c": `struct two { int a; long b; }; static PERCPU struct two state;
			long f2(void) { return state.b; }`,
		"d3/core.c": `struct three { long a; int b; }; static PERCPU struct three state;
			long f3(void) { return state.b; }`,
	}},
	{"one tag of several meanings", map[string]string{
		"d1/core.c": `struct one { int a; long b; }; static PERCPU struct one state;
			long f1(void) { return state.b; }`,
		"d2/core.c": `struct one { int c; long d; }; static PERCPU struct one state;
			long f2(void) { return state.d; }`,
		"d3/core.c": `struct one { long e; int f; }; static PERCPU struct one state;
			long f3(void) { return state.e; }`,
	}},
	{"a pointer to a tag of several meanings", map[string]string{
		"d1/core.c": `struct one { int a; long b; }; static PERCPU struct one *state;
			long f1(void) { return state->b; }`,
		"d2/core.c": `struct one { int c; long d; }; static PERCPU struct one *state;
			long f2(void) { return state->d; }`,
	}},
	{"equal types in all files", map[string]string{
		"d1/core.c": `struct one { int a; long b; }; struct two { long c; int d; };
			static PERCPU struct one state; long f1(struct two *p) { return state.b + p->c; }`,
		"d2/core.c": `struct one { int a; long b; }; struct two { long c; int d; };
			static PERCPU struct two state; long f2(struct one *p) { return state.c + p->b; }`,
	}},
	{"two alike, one not", map[string]string{
		"d1/core.c": `struct one { int a; long b; }; static PERCPU struct one state;
			long f1(void) { return state.b; }`,
		"d2/core.c": `struct one { int a; long b; }; static PERCPU struct one state;
			long f2(void) { return state.b; }`,
		"d3/core.c": `struct one { long b; int a; }; static PERCPU struct one state;
			long f3(void) { return state.b; }`,
	}},
	{"several definitions of a tag in one unit", map[string]string{
		"d1/core.c": `struct one { int a; long b; }; static PERCPU struct one *state;
			long f1(long x) { { struct one { long c; } s = { x }; return state->b + s.c; } }`,
		"d2/core.c": `struct one { int a; long d; }; static PERCPU struct one *state;
			long f2(long x) { { struct one { long c; } s = { x }; return state->d + s.c; } }`,
	}},
	{"variables of functions", map[string]string{
		"d1/core.c": `static PERCPU int state;
			int f1(void) { static PERCPU int state; return ++state; }
			int g1(void) { static PERCPU int state; return state++; } int h1(void) { return state; }`,
		"d2/core.c": `static PERCPU float state;
			int f2(void) { static PERCPU int state; return ++state; }
			int g2(void) { return state; }`,
	}},
}

// compilers are ways to compile a program.
var compilers = []string{"gcc", "gcc -O2", "gcc -O2 -ffunction-sections -fdata-sections",
	"gcc -gdwarf-4", "gcc -gz=zlib", "clang", "clang -O2", "clang -O2 -gdwarf-4"}

// TestLikeFiles: each variable has the type that the DWARF has at its address, whatever the order
// in which the files are linked. Only two programs are compiled in all ways.
func TestLikeFiles(t *testing.T) {
	for i, program := range likeFiles {
		for _, compiler := range compilers {
			optimized := compiler == "gcc -O2"
			if !optimized && compiler != "clang" && i != 1 && i != len(likeFiles)-1 {
				continue
			}
			t.Run(program.name+"/"+compiler, func(t *testing.T) {
				w := newWorkspace(t)
				objects := w.Compile(compiler, program.sources)
				for _, order := range []string{"forth", "back"} {
					linked := w.Link(order, objects...)
					w.compare(linked, objects...)
					slices.Reverse(objects)
				}
				if !optimized {
					return
				}
				// the sections of modules have no addresses
				w.Run("ld", append([]string{"-r", "-o", "mod.ko"}, objects...)...)
				w.compare("mod.ko", objects...)
				// dwz moves the types of several units into partial units
				w.Run("dwz", "-o", "dwz", "forth")
				w.compare("dwz", objects...)
			})
		}
	}
}

// compare compares the variables of a linked file with what its DWARF says.
func (w workspace) compare(linked string, objects ...string) {
	w.Helper()
	res := w.Roads(linked, objects...)
	if got, want := w.Variables(res.Blob), w.Oracle(linked); !maps.Equal(got, want) {
		w.Errorf("%s: variables %v, want %v", linked, got, want)
	}
	if got := skipped(res); got != "" {
		w.Errorf("%s: skipped %s", linked, got)
	}
}

// TestAllSections tests the feature global_var.
func TestAllSections(t *testing.T) {
	w := newWorkspace(t)
	w.Features = w.Features.With(features.GlobalVar)
	sources := map[string]string{}
	for name, text := range likeFiles[0].sources {
		sources[name] = strings.ReplaceAll(text, "PERCPU", `__attribute__((used))`) +
			" static PERCPU int other;"
	}
	objects := w.Compile("gcc -O2", sources)
	known := w.Facts(w.Link("linked", objects...))
	for _, o := range known.Vars {
		if (o.Definition != types.Hash{}) != o.Local {
			t.Errorf("%+v", o)
		}
	}
	if res := w.Roads("linked", objects...); skipped(res) != "" || len(w.Variables(res.Blob)) != 6 {
		t.Errorf("variables %v, skipped %s", w.Variables(res.Blob), skipped(res))
	}
}

// TestUniqueNames: if the names of variables and files suffice, the facts have no hashes, and no
// DWARF is needed.
func TestUniqueNames(t *testing.T) {
	w := newWorkspace(t)
	objects := w.Compile("gcc -O2", map[string]string{
		"a/core.c": "static PERCPU int one, two; int f1(void) { return one + two; }",
		"b/core.c": "static PERCPU int three; int f2(void) { return three; }",
		"b/other.c": `static PERCPU int one; int f3(void) { return one; }
			int f4(void) { static PERCPU int two; return two++; }`,
	})
	w.compare(w.Link("linked", objects...), objects...)
	for _, o := range w.Facts("linked").Vars {
		if o.Definition != (types.Hash{}) {
			t.Errorf("%+v", o)
		}
	}
}

// TestStripped tests facts of a file without DWARF: ambiguous variables are left out.
func TestStripped(t *testing.T) {
	const several = "state: several static variables of this name"
	for _, program := range likeFiles[:5] {
		w := newWorkspace(t)
		objects := w.Compile("gcc -O2", program.sources)
		linked := w.Link("linked", objects...)
		for _, files := range []string{"--keep-file-symbols", "--strip-symbol=core.c"} {
			w.Run("objcopy", "--strip-debug", files, linked, "stripped")
			res := w.Graph("stripped", objects...)
			if got := w.Variables(res.Blob); len(got) != 0 || skipped(res) != several {
				t.Errorf("%s, %s: variables %v, skipped %s", program.name, files, got, skipped(res))
			}
		}
	}
	// This time, the files have static functions whose names differ between the files.
	w := newWorkspace(t)
	sources := map[string]string{}
	for name, text := range likeFiles[0].sources {
		sources[name] = text + " __attribute__((noinline, used)) static void only_" + name[:2] +
			"(void) {}"
	}
	objects := w.Compile("gcc -O2", sources)
	w.Run("objcopy", "--strip-debug", "--keep-file-symbols", w.Link("linked", objects...), "stripped")
	res := w.Graph("stripped", objects...)
	if got, want := w.Variables(res.Blob), w.Oracle("linked"); !maps.Equal(got, want) ||
		skipped(res) != "" {
		t.Errorf("variables %v, want %v; skipped %s", got, want, skipped(res))
	}
}

// TestHidden: lld makes hidden symbols local, so they look like static variables.
func TestHidden(t *testing.T) {
	w := newWorkspace(t)
	objects := w.Compile("gcc -O2", map[string]string{
		"a.c": `struct one { int a; long b; }; long f1(void); PERCPU
			__attribute__((visibility("hidden"))) struct one state; long f1(void) { return state.b; }`,
		"b.c": likeFiles[0].sources["d2/core.c"],
	})
	w.compare(w.Link("linked", objects...), objects...)
	w.Run("ld.lld", "-T", "link.lds", "-e", "0", "-o", "by-lld", objects[0], objects[1])
	w.compare("by-lld", objects...)
}

// TestFileWithoutDWARF: a variable without debugging information doesn't get another variable's
// type.
func TestFileWithoutDWARF(t *testing.T) {
	w := newWorkspace(t)
	objects := w.Compile("gcc -O2", likeFiles[0].sources)
	w.Run("strip", "-g", objects[1])
	linked := w.Link("linked", objects...)
	res := w.Roads(linked, objects[0], objects[2])
	if got, want := w.Variables(res.Blob), w.Oracle(linked); len(got) != 2 || !maps.Equal(got, want) {
		t.Errorf("variables %v, want %v", got, want)
	}
	if got := skipped(res); got != "state: no variable of file scope in the debug information" {
		t.Errorf("skipped %s", got)
	}
	// According to the facts, the other variable has debugging information, which was not
	// converted.
	res = w.Graph(linked, objects[0])
	if got := w.Variables(res.Blob); len(got) != 1 {
		t.Errorf("variables %v of one object", got)
	}
}

// TestLinkTimeOptimization: symbols don't name the source files, and may have different names.
func TestLinkTimeOptimization(t *testing.T) {
	for _, compiler := range []string{"gcc -O2", "clang -O2 -fuse-ld=lld"} {
		for _, program := range likeFiles[:5] {
			t.Run(program.name+"/"+compiler, func(t *testing.T) {
				w := newWorkspace(t)
				objects := w.Compile(compiler+" -flto -Wno-unused-command-line-argument", program.sources)
				w.Write("link.lds", compiledtest.Script)
				words := append(strings.Fields(compiler), "-flto", "-nostdlib", "-static", "-no-pie",
					"-Wl,-e,0,-T,link.lds", "-o", "linked")
				w.Run(words[0], append(words[1:], objects...)...)
				res := w.Roads("linked", "linked")
				got, want := w.Variables(res.Blob), w.Oracle("linked")
				if words[0] == "gcc" { // one unit has all variables: they can't be distinguished
					want = nil
				}
				if !maps.Equal(got, want) || (len(want) == 0) !=
					strings.HasPrefix(skipped(res), "state.lto_priv.0: several static variables") {
					t.Errorf("variables %v, want %v; skipped %s", got, want, skipped(res))
				}
			})
		}
	}
}

// TestTypeUnits: with type units, the hashes would differ, so the facts have no hashes.
func TestTypeUnits(t *testing.T) {
	w := newWorkspace(t)
	objects := w.Compile("gcc -O2 -fdebug-types-section", likeFiles[0].sources)
	res := w.Roads(w.Link("linked", objects...), objects...)
	if got := w.Variables(res.Blob); len(got) != 0 {
		t.Errorf("variables %v", got)
	}
}

// TestTypesHash: a unit's hash is the same in its object file and in the linked file, even if the
// linker dropped or renamed functions.
func TestTypesHash(t *testing.T) {
	sources := map[string]string{
		"a.c": `struct s { int a; } s; enum { E }; typedef struct s t; t *p;
			__attribute__((weak)) int f(struct s *s, int x) { return s->a + x; }
			int entry(void) { return s.a; }
			int unused(struct s *s) { struct s { long b; } q = { s->a }; return q.b; }`,
		"b.c": `struct s { int a; } r; int f(struct s *s, int x) { return s->a - x; }
			PERCPU int v; static PERCPU int u; int g(void) { return u + v; }`,
		"c.c": `typedef int T; int g(void); static inline T h(T x) { return g() + x; }
			T k(T x) { return h(x) + h(1); }`,
	}
	for _, compiler := range compilers {
		t.Run(compiler, func(t *testing.T) {
			w := newWorkspace(t)
			objects := w.Compile(compiler, sources)
			w.Run("objcopy", "--prefix-symbols=__pi_", objects[2], "renamed.o")
			w.Run("objcopy", "--redefine-sym", "__pi_g=g", "renamed.o")
			objects[2] = "renamed.o"
			var want []types.Hash
			for _, name := range objects {
				o := w.Convert(name)
				want = append(want, o.Units[0].TypesHash(o.Graph))
			}
			w.Link("linked", objects...)
			w.Run("ld", append([]string{"-T", "link.lds", "--gc-sections", "-e", "entry",
				"-u", "g", "-u", "__pi_k", "-o",
				"dropped"}, objects...)...)
			w.Run("ld", append([]string{"-r", "-o", "module"}, objects...)...)
			for _, name := range []string{"linked", "dropped", "module"} {
				o := w.Convert(name)
				for i := range o.Units {
					if got := o.Units[i].TypesHash(o.Graph); got != want[i] {
						t.Errorf("%s, %s: %x, want %x", name, objects[i], got, want[i])
					}
				}
			}
			if want[0] == want[1] || want[1] == want[2] {
				t.Errorf("equal hashes of different units: %x", want)
			}
		})
	}
}
