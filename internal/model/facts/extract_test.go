package facts

import (
	"reflect"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func requireSame(t *testing.T, got, want *Facts) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}
}

// Two sources with the same base name, with clones, aliases, repeated names, and variables in two
// sections.
const (
	sourceA = `
#define NI __attribute__((noinline, used))
#define PERCPU __attribute__((section(".data..percpu"), used))
int ext(int);
static NI int helper(int a) { return ext(a) + 1; }
static NI int only_a(int a) { return ext(a) + helper(a); }
static PERCPU long counter = 1;
PERCPU int shared_counter = 2;
int plain_variable = 3;
int entry_a(int x) { return only_a(x) + counter; }
int alias_a(int x) __attribute__((alias("entry_a")));
`
	sourceB = `
#define NI __attribute__((noinline, used))
int ext(int);
static NI int helper(int a) { return ext(a) + 2; }
static NI int clone(int a, int b) { return ext(b) + b; }
int entry_b(int x) { return helper(x) + clone(x, 1 + x) + clone(3, x); }
`
	sourceExt = `
int ext(int a) { return a * 3; }
__attribute__((weak)) int weak(int a) { return a; }
`
)

func buildSmall(w workspace, order ...int) string {
	objects := []string{
		w.compile("a/core.c", sourceA),
		w.compile("b/core.c", sourceB),
		w.compile("ext.c", sourceExt),
	}
	var list []string
	for _, i := range order {
		list = append(list, objects[i])
	}
	return w.link("small", list...)
}

func TestExtract(t *testing.T) {
	w := newWorkspace(t)
	got := body(t, w.extract(buildSmall(w, 0, 1, 2), defaults))
	want := `symfiles yes
variables percpu
kfuncs absent
addresses helper 2
global
func alias_a
func entry_a
func entry_b
func ext
func weak
var shared_counter .data..percpu 0 4
file core.c
func clone.isra.0
func helper
file core.c
func helper
func only_a
var counter .data..percpu 8 8
file ext.c
end
`
	// The compiler decides how it names and places some of these symbols.
	got = strings.ReplaceAll(got, "clone.constprop.0", "clone.isra.0")
	got = strings.ReplaceAll(got, "func clone\n", "func clone.isra.0\n")
	if strings.Contains(got, "shared_counter .data..percpu 8 4") {
		got = strings.NewReplacer("shared_counter .data..percpu 8 4", "shared_counter .data..percpu 0 4",
			"counter .data..percpu 0 8", "counter .data..percpu 8 8").Replace(got)
	}
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLinkOrderDoesNotMatter(t *testing.T) {
	w := newWorkspace(t)
	first := text(t, w.extract(buildSmall(w, 0, 1, 2), defaults))
	for _, order := range [][]int{{1, 0, 2}, {2, 1, 0}, {2, 0, 1}} {
		if got := text(t, w.extract(buildSmall(w, order...), defaults)); got != first {
			t.Errorf("order %v: got\n%s\nwant\n%s", order, got, first)
		}
	}
}

func TestLargerFunctionsDoNotMatter(t *testing.T) {
	w := newWorkspace(t)
	before := text(t, w.extract(buildSmall(w, 0, 1, 2), defaults))
	object := w.compile("a/core.c", strings.Replace(sourceA, "ext(a) + 1",
		"ext(ext(a) * ext(7)) + 12345", 1))
	after := text(t, w.extract(w.link("changed", object, "b/core.o", "ext.o"), defaults))
	if before != after {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}

func TestFeaturesChooseVariables(t *testing.T) {
	w := newWorkspace(t)
	name := buildSmall(w, 0, 1, 2)
	for _, c := range []struct {
		features string
		state    Variables
		names    []string
	}{
		{"none", VariablesNone, nil},
		{"var", VariablesPerCPU, []string{"counter", "shared_counter"}},
		{"global_var", VariablesAll, []string{"counter", "plain_variable", "shared_counter"}},
		{"var,global_var", VariablesAll, []string{"counter", "plain_variable", "shared_counter"}},
	} {
		set := must.Get(features.Parse(c.features))(t)
		f := w.extract(name, Options{Features: set})
		names := map[string]bool{}
		for _, o := range f.Vars {
			names[o.Name] = true
			if wantLocal := o.Name == "counter"; o.Local != wantLocal || wantLocal != (o.File >= 0) {
				t.Errorf("%s: local %v, file %d", o.Name, o.Local, o.File)
			}
			if o.File >= 0 && f.Files[o.File].Name != "core.c" {
				t.Errorf("%s: in file %q", o.Name, f.Files[o.File].Name)
			}
		}
		want := map[string]bool{}
		for _, n := range c.names {
			want[n] = true
		}
		if !reflect.DeepEqual(names, want) || f.Variables != c.state {
			t.Errorf("%s: %s, variables %v, want %v", c.features, f.Variables, names, want)
		}
		if f.KfuncState != KfuncsOff {
			t.Errorf("%s: kfuncs %s", c.features, f.KfuncState)
		}
		text(t, f)
	}
}

// In a relocatable file, two functions in different sections may have the same offset.
func TestRelocatableFiles(t *testing.T) {
	w := newWorkspace(t)
	for _, flags := range [][]string{nil, {"-ffunction-sections"}} {
		a, b := w.compile("a/core.c", sourceA, flags...), w.compile("b/core.c", sourceB, flags...)
		w.run("ld", "-r", "-o", "mod.ko", a, b)
		f := w.extract("mod.ko", defaults)
		if want := []RepeatedName{{"helper", 2}}; !reflect.DeepEqual(f.SeveralAddresses, want) {
			t.Errorf("%v: repeated %v, want %v", flags, f.SeveralAddresses, want)
		}
		if len(f.Files) != 2 || len(f.Vars) != 2 || f.Vars[0].Section != PerCPUSection ||
			f.Vars[0].Offset != 0 {
			t.Errorf("%v: files %v, objects %v", flags, f.Files, f.Vars)
		}
		text(t, f)
	}
}

func TestWithoutFileSymbols(t *testing.T) {
	w := newWorkspace(t)
	name := buildSmall(w, 0, 1, 2)
	w.run("objcopy", "--strip-symbol=core.c", "--strip-symbol=ext.c", name, "nofiles")
	f := w.extract("nofiles", defaults)
	if f.HasFiles || len(f.Files) != 1 || f.Files[0].Name != "" || len(f.Files[0].Funcs) != 4 {
		t.Errorf("files %v: %v", f.HasFiles, f.Files)
	}
	if want := []RepeatedName{{"helper", 2}}; !reflect.DeepEqual(f.SeveralAddresses, want) {
		t.Errorf("repeated %v, want %v", f.SeveralAddresses, want)
	}
	text(t, f)
	// LLVM's full LTO has one file of this name for all sources.
	w.run("objcopy", "--redefine-sym", "core.c=ld-temp.o", name, "lto")
	if lto := w.extract("lto", defaults); lto.HasFiles || !reflect.DeepEqual(lto, f) {
		t.Errorf("after link-time optimization %+v, want %+v", lto, f)
	}
	w.run("strip", "-o", "stripped", name)
	if f := w.extract("stripped", defaults); len(f.Files)+len(f.Globals)+len(f.Vars) != 0 {
		t.Errorf("stripped: %+v", f)
	}
}

// TestSymbolsOfOneName checks how symbols with the same base name are counted: aliases count once;
// parts of functions, and symbols that end where a function begins (__pfx_, __cfi_), don't count.
func TestSymbolsOfOneName(t *testing.T) {
	w := newWorkspace(t)
	object := w.compile("names.c", `asm(
".text\n"
".macro function name, mark=0\n"
".local \\name\n .type \\name, STT_FUNC\n"
"\\name: .byte 0, 0, 0, 0\n .size \\name, 4\n"
".endm\n"
"function __pfx_marked\n function marked\n"      // ends where marked begins
"function __cfi_hashed\n function hashed\n"
"function __pfx_alone\n function between\n function alone\n" // a function of that name
"function split.part.0\n function split.cold\n function split\n"
"function clone.isra.0\n function clone.constprop.1\n"
".local same\n .type same, STT_FUNC\n .set same, one.a\n function one.a\n"
".local one.b\n .type one.b, STT_FUNC\n .set one.b, one.a\n"
"function .dotted\n"
);`)
	got := body(t, w.extract(object, defaults))
	want := `symfiles yes
variables percpu
kfuncs absent
addresses clone 2
global
file names.c
func __pfx_alone
func alone
func between
func clone.constprop.1
func clone.isra.0
func hashed
func marked
func one.a
func one.b
func same
func split
func split.part.0
end
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestBaseName(t *testing.T) {
	for _, c := range []struct {
		symbol, base string
		ok           bool
	}{
		{"f", "f", true},
		{"f.isra.0", "f", true},
		{"f.constprop.0.isra.1", "f", true},
		{"f.lto_priv.3", "f", true},
		{"f.llvm.123", "f", true},
		{"f.cold", "", false},
		{"f.isra.0.cold", "", false},
		{"f.part.0", "", false},
		{"f_cold", "f_cold", true},
		{".L1", "", false},
		{"", "", false},
	} {
		if base, ok := BaseName(c.symbol); base != c.base || ok != c.ok {
			t.Errorf("BaseName(%q) = %q, %v; want %q, %v", c.symbol, base, ok, c.base, c.ok)
		}
	}
}

// TestFileSymbolsWithDirectories: some compilers name a source file with its path.
func TestFileSymbolsWithDirectories(t *testing.T) {
	w := newWorkspace(t)
	w.write("x.s", ".file \"drivers/input/x.c\"\n.text\n.type f, @function\nf: ret\n.size f, 1\n")
	w.run("as", "-o", "x.o", "x.s")
	if f := w.extract(w.link("x", "x.o"), defaults); len(f.Files) != 1 || f.Files[0].Name != "x.c" {
		t.Errorf("files %+v, want x.c", f.Files)
	}
}
