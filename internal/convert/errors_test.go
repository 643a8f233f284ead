package convert

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/language"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// build runs a shell script in a new directory with a few source files. The script writes a file
// whose name is the parameter out; build returns the path of that file.
func build(t *testing.T, script, out string) string {
	t.Helper()
	if strings.Contains(script, ".cc") || strings.Contains(script, "c++") {
		programtest.Need(t, "g++")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"x.c": "struct s { int a; } v = { 1 }; int f(struct s *p) { return p->a; }",
		"a.c": `__asm__(".section .names, \"a\"; names: .asciz \"x\"; .globl names; .previous");`,
		"e.c": "", "d.c": "int data = 1;",
		"m.c": "__attribute__((section(\".modinfo\"))) char i[] = \"license=GPL\"; " +
			"__attribute__((section(\".gnu.linkonce.this_module\"))) char m[64] = {1};",
		"x.S": ".text\n.globl g\n.type g,@function\ng: ret\n.size g,.-g\n",
	} {
		must.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o666))
	}
	programtest.Shell(t, dir, script)
	return filepath.Join(dir, out)
}

// TestSeveralSections joins two objects so that a section that must be unique occurs twice. An
// offset then doesn't say to which of the two sections it refers.
func TestSeveralSections(t *testing.T) {
	for _, tt := range []struct{ section, flags string }{
		{".debug_str", "-gdwarf-5"}, {".debug_line_str", "-gdwarf-5"}, {".debug_abbrev", "-gdwarf-5"},
		{".debug_rnglists", "-gdwarf-5 -ffunction-sections"}, {".debug_loclists", "-gdwarf-5 -O2"},
		{".debug_ranges", "-gdwarf-4 -ffunction-sections"}, {".debug_loc", "-gdwarf-4 -O2"},
	} {
		t.Run(tt.section, func(t *testing.T) {
			script := `for n in 1 2; do
					echo "int h(int); int a$n(int p, int q) { p = h(p); return h(p + 1) * q + p; }" > y$n.c
					echo "int b$n(void) { return 0; }" >> y$n.c
					gcc -c ` + tt.flags + ` y$n.c
				done
				ld -r --unique=` + tt.section + " -o o y1.o y2.o"
			path := build(t, script, "o")
			want := "are both " + tt.section
			_, err := tryConvert(path, Options{Features: features.Default()})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}

// TestWithoutDWARF converts files without DWARF. A file that needs no DWARF gives an empty object;
// any other file gives an error that names the cause and the flag that helps.
func TestWithoutDWARF(t *testing.T) {
	for _, tt := range []struct{ name, script, want string }{
		{"C without -g", "gcc -c x.c -o o", "no DWARF (.debug_info) and no BTF (.BTF); compile with -g"},
		{"data without -g", "gcc -c d.c -o o",
			"no DWARF (.debug_info) and no BTF (.BTF); compile with -g"},
		{"stripped", "gcc -g -c x.c -o o && strip --strip-debug o",
			"no DWARF (.debug_info) and no BTF (.BTF); compile with -g or -gbtf and don't strip"},
		{"linked without -g", "gcc -nostdlib -static -Wl,-e,f x.c -o o", "no DWARF (.debug_info)"},
		{"assembler", "gcc -c x.S -o o", ""},
		{"assembler with -g", "gcc -g -c x.S -o o", ""},
		{"empty C without -g", "gcc -c e.c -o o", ""},
		{"empty C", "gcc -g -c e.c -o o", ""},
		{"modpost's without -g", "gcc -c m.c -o o", ""},
		{"ld -r of nothing", "touch e.ld && gcc -c e.c && ld -r e.o -o o", ""},
		{"an empty archive's link", ": > n.S && gcc -c n.S && ld -r n.o -o o", ""},
		{"slim LTO", "gcc -g -O1 -flto -fno-fat-lto-objects -c x.c -o o",
			"an LTO object (gcc bitcode) has no DWARF of its own; compile without -flto"},
		{"slim LTO without -g", "gcc -O1 -flto -fno-fat-lto-objects -c x.c -o o",
			"an LTO object (gcc bitcode)"},
		{"split DWARF 5", "gcc -gdwarf-5 -gsplit-dwarf -c x.c -o o && rm *.dwo",
			"split DWARF: the unit is in"},
		{"split DWARF 4", "gcc -gdwarf-4 -gsplit-dwarf -c x.c -o o && rm *.dwo", "was not found at"},
		{".dwo", "gcc -gdwarf-5 -gsplit-dwarf -c x.c -o o.o && mv *.dwo o",
			"this is a .dwo file, which has no addresses; pass the object file"},
		{"split by objcopy", "gcc -g -c x.c -o o.o && objcopy --only-keep-debug o.o d && objcopy " +
			"--strip-debug o.o o", "no DWARF"},
		{"with a link to what was split off",
			"gcc -g -c x.c -o o.o && objcopy --only-keep-debug o.o o.debug && objcopy --strip-debug " +
				"--add-gnu-debuglink=o.debug o.o o",
			`no DWARF (.debug_info): the DWARF was moved to "o.debug" (.gnu_debuglink); ` +
				`pass that file`},
		{"only assembly in C without -g", "gcc -c a.c -o o", ""}, // clang: even with -g
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, err := tryConvert(build(t, tt.script, "o"), Options{Features: features.Default(), Jobs: 1})
			switch {
			case tt.want != "":
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v, want %q", err, tt.want)
				}
			case err != nil:
				t.Error(err)
			default:
				for _, u := range o.Units {
					if len(u.Items) > 0 && tt.name != "assembler with -g" {
						t.Errorf("%d items", len(u.Items))
					}
				}
			}
		})
	}
}

// TestFatLTO: an object with both bitcode and code has usable DWARF.
func TestFatLTO(t *testing.T) {
	r := linkFile(t, build(t, "gcc -g -O1 -flto -ffat-lto-objects -c x.c -o o", "o"), "default")
	want := []string{"int f(struct s *p);", "struct s { int a @0; } 4"}
	if got := dump(t, r.BTF, false); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestUnencodable converts a C++ object with a pointer to a member. The result is an error that
// names the entry, unless one of two flags leaves the unit out.
func TestUnencodable(t *testing.T) {
	const path = "testdata/objects/unencodable.o"
	opt := Options{Features: features.Default(), Jobs: 1}
	_, err := tryConvert(path, opt)
	const want = "unit unencodable.cc: DW_TAG_ptr_to_member_type can't be expressed in BTF " +
		"(--lang-exclude=c++ or --features=+skip_unencodable leaves such units out)"
	if err == nil || !strings.Contains(err.Error(), path+": .debug_info+0x") ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	var warned []string
	opt.Features |= features.SkipUnencodable
	opt.Warn = func(l string) { warned = append(warned, l) }
	if o := convertFile(t, path, opt); len(o.Units) != 0 {
		t.Errorf("%d units", len(o.Units))
	}
	if len(warned) != 1 || warned[0] != err.Error()+"; the unit is left out" {
		t.Errorf("warnings %q", warned)
	}
	opt = Options{Features: features.Default(), Jobs: 1}
	for _, list := range []string{"c++14, rust", "c++"} { // gcc's default is later than C++ 98
		if opt.LangExclude, err = language.Parse(list); err != nil {
			t.Fatal(err)
		}
		if o := convertFile(t, path, opt); len(o.Units) != 0 {
			t.Errorf("%d units in spite of --lang-exclude=%s", len(o.Units), list)
		}
	}
}

// TestRust converts two Rust units. One has only names that are valid in C, and is encoded as
// pahole encodes it, with members in the order of their offsets. The other has names and types that
// no kernel accepts unchanged.
func TestRust(t *testing.T) {
	linked := filepath.Join(t.TempDir(), "linked")
	linkObjects(t, linked, "testdata/objects/rust-plain.o")
	(&source{features: "default"}).compareWithPahole(t, linked,
		twoRoads(t, "default", linked, "testdata/objects/rust-plain.o"))

	const path = "testdata/objects/rust.o"
	linkObjects(t, linked, path)
	compareWithFile(t, "testdata/objects/rust.txt", twoRoads(t, "default", linked, path))
	opt := Options{Features: features.Default(), Jobs: 1}
	var err error
	if opt.LangExclude, err = language.Parse("rust"); err != nil {
		t.Fatal(err)
	}
	if n := units(convertFile(t, path, opt)); n != 0 {
		t.Errorf("%d units in spite of the exclusion", n)
	}
}

// TestSkippedUnitLeavesNoTrace links a good unit with one that can't be encoded. The result must be
// that of the good unit alone, in either order and with any number of threads.
func TestSkippedUnitLeavesNoTrace(t *testing.T) {
	opt := Options{Features: features.Default().With(features.SkipUnencodable)}
	want := must.Get(object.Write(convertFile(t, build(t, "gcc -g -c x.c", "x.o"), opt), 1))(t)
	for _, bad := range []string{
		"struct s { long other; }; struct only_bad { int x; }; int g(struct s *r, only_bad *o, " +
			"long s::*m) { return r->*m + o->x; }",
		// the error occurs in a definition, and again in one that is visited after the error
		"struct X { void *p; }; typedef int X::*dm; int g(X *x, dm d) { return x->p != 0; }",
		"struct X { int p; }; typedef int X::*a; typedef a b; struct Y { b m[2]; } y; typedef Y *c; " +
			"struct Z { Y y; c *z; } z; int g(Z *x, c d) { return x->y.m != d->m; }",
		"struct X { int p; }; typedef void (*f)(int X::*); f w; int g(X *x, f d) { return d == w; }",
	} {
		for _, order := range []string{"x.o b.o", "b.o x.o"} {
			path := build(t, "echo '"+bad+"' > b.cc; gcc -g -c x.c; gcc -g -c b.cc; ld -r "+order+" -o o",
				"o")
			for _, opt.Jobs = range []int{1, 2} {
				data := must.Get(object.Write(convertFile(t, path, opt), 1))(t)
				if string(data) != string(want) {
					t.Errorf("%s, %d threads: a different object with %s", order, opt.Jobs, bad)
				}
			}
		}
	}
}

// TestReducedDebugInformation converts C units compiled with -femit-struct-debug-baseonly. gcc then
// only declares the types of headers, even types without a name, which nothing can define.
func TestReducedDebugInformation(t *testing.T) {
	const header = "struct named { int x; }; typedef struct { int x; } alias; "
	const good = "struct own { int y; }; struct named *g(struct own *o) { return 0; }"
	opt := Options{Features: features.Default().With(features.SkipUnencodable)}
	var all []byte
	for name, text := range map[string]string{
		"typedef":   "alias *f(void) { return 0; }",
		"member":    "struct t { alias m; } *f(void) { return 0; }",
		"array":     "struct t { alias m[3]; } *f(void) { return 0; }",
		"parameter": "int f(alias a) { return a.x; }",
		"per-CPU":   "__attribute__((section(\".data..percpu\"))) alias v = { 1 };",
		"in a pointer": "struct t { struct { struct { int z; } m; } *p; alias *q; } v; " +
			"int f(struct t *p) { return p->p == 0; }",
	} {
		path := build(t, fmt.Sprintf("echo '%s' > h.h; echo '%s' > good.c; "+
			"(echo '#include \"h.h\"'; echo '%s') > bad.c; "+
			"gcc -g -femit-struct-debug-baseonly -c good.c bad.c; ld -r good.o bad.o -o o",
			header, good, text), "o")
		for _, opt.Jobs = range []int{1, 2} {
			strict := opt
			strict.Features = features.Default()
			_, err := tryConvert(path, strict)
			want := "unit bad.c: a type that has neither a name nor a definition (compile without " +
				"-femit-struct-debug-*, CONFIG_DEBUG_INFO_REDUCED) can't be expressed in BTF"
			if err == nil || !strings.Contains(err.Error(), want) || !isUnencodableText(err) {
				t.Errorf("%s: error %v, want %q", name, err, want)
			}
			data, err := object.Write(convertFile(t, path, opt), 1)
			must.OK(t, err)
			if all == nil {
				all = data
			}
			if string(data) != string(all) {
				t.Errorf("%s: the bad unit left a trace", name)
			}
		}
	}
}

// isUnencodableText reports whether err, which may be a copy, names an entry and two flags.
func isUnencodableText(err error) bool {
	return strings.Contains(err.Error(), ".debug_info+0x") &&
		strings.Contains(err.Error(), "-femit-struct-debug-*") &&
		strings.Contains(err.Error(), "--features=+skip_unencodable")
}

// TestLosses: if the BTF lacks something that the source has, there is one message for each file,
// whatever the number of units and threads. There is none for units that have no types in the
// source.
func TestLosses(t *testing.T) {
	const two = "echo 'void h(void) { }' > y.c; echo 'void h(void); void only(void) { h(); }' > z.c; "
	for _, tt := range []struct{ name, script, want string }{
		{"-g1", "gcc -g1 -O2 -c x.c -o o", "unit x.c has functions, but no types and no parameters, " +
			"as with -g1 or -gline-tables-only, so"},
		{"tags", `echo '__attribute__((btf_decl_tag("a"))) int v; void h(void) { }' > t.c; ` +
			"gcc -w -g1 -c t.c -o o", "unit t.c has functions, but no types and no parameters"},
		{"two units of three", two + "gcc -g1 -c x.c y.c; gcc -g -c d.c; ld -r d.o x.o y.o -o o",
			"compile with -g (the same holds for 1 other unit)"},
		{"only void f(void)", two + "gcc -g -O2 -c y.c z.c; ld -r y.o z.o -o o", ""},
		{"only assembly in C", "gcc -g -c a.c -o o", ""},
		{"assembler", "gcc -g -c x.S -o o", ""},
		{"clang", "echo 'int only(int); static inline int inlined(int a) { return only(a) + 1; } " +
			"int f(int a) { return inlined(a) + 1; }' > c.c; clang -g1 -O2 -c c.c -o o",
			"unit c.c has functions, but no types and no parameters"},
		{"clang, only void f(void)", two + "clang -g -O2 -c z.c -o o", ""},
		{"gcc, without prototypes", "echo 'void h(void); void f() { h(); h(); }' > k.c; " +
			"gcc -g -O2 -std=gnu17 -c k.c -o o", ""},
		{"C++", "gcc -g1 -x c++ -c x.c -o o", ""},
		{"data", "gcc -g1 -c d.c -o o", ""},
		{"", "testdata/objects/c23-gcc.o", `c23-gcc.o: BTF can't express the base type "`},
		{"", "testdata/objects/c23-clang.o", `c23-clang.o: BTF can't express the base type "`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := tt.script
			if tt.name != "" {
				path = build(t, tt.script, "o")
			}
			for jobs := range 3 {
				var warned []string
				convertFile(t, path, Options{Features: features.Default(), Jobs: jobs + 1,
					Warn: func(l string) { warned = append(warned, l) }})
				switch {
				case tt.want == "" && len(warned) > 0,
					tt.want != "" && (len(warned) != 1 || !strings.Contains(warned[0], tt.want)):
					t.Errorf("%s: warnings %q, want %q", path, warned, tt.want)
				}
			}
		})
	}
}

// TestLanguages excludes units by their language.
func TestLanguages(t *testing.T) {
	path := build(t, "gcc -g -c x.c; gcc -g -c x.S -o a.o; ld -r x.o a.o -o o", "o")
	for list, want := range map[string]int{"": 2, "c11": 1, "asm": 1, "c11,asm": 0, "C11 , ASM": 0,
		"c++,rust": 2} {
		codes := must.Get(language.Parse(list))(t)
		if o := convertFile(t, path, Options{Features: features.Default(), LangExclude: codes,
			Jobs: 1}); units(o) != want {
			t.Errorf("%q: %d units, want %d", list, units(o), want)
		}
	}
	if _, err := language.Parse("c,rsut"); err == nil ||
		!strings.Contains(err.Error(), `unknown language "rsut"; the known languages are`) {
		t.Errorf("a wrong name: %v", err)
	}
}

func units(o *object.Object) int {
	n := 0
	for _, u := range o.Units {
		n += int(u.Count)
	}
	return n
}

// TestErrorsOutliveTheFile prints errors after the files that they name have been unmapped.
func TestErrorsOutliveTheFile(t *testing.T) {
	var errs []error
	for _, path := range []string{"testdata/objects/unencodable.o", "testdata/objects/split-4.o",
		"testdata/objects/split-5.o", "testdata/objects/lto-gcc-slim.o"} {
		f, err := elf.Open(path)
		must.OK(t, err)
		_, err = File(f, Options{Features: features.Default(), Jobs: 1})
		f.Close()
		errs = append(errs, err)
	}
	for _, err := range errs {
		if err == nil || !strings.Contains(fmt.Sprint(err), "testdata/objects/") {
			t.Errorf("error %v", err)
		}
	}
}
