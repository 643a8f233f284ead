package random

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// known has small programs that are hard to convert, with the types that their BTF must have.
var known = []struct {
	name     string
	files    map[string]string
	compiler string         // "" means gcc
	dwarf    []string       // flags; nil means -gdwarf-5
	features string         // "" means none
	runs     int            // the minimum for Build.Runs
	count    map[string]int // maps "KIND NAME" to the number of such types in the BTF
}{
	{
		name: "chains that differ at the end",
		files: map[string]string{
			"a.c": sink + "void a(void)\n{\n" + chain("int") + chain("long") + "}\n",
			"b.c": sink + "void b(void)\n{\n" + chain("int") + chain("char") + "}\n",
		},
		runs:  12,
		count: map[string]int{"struct t0": 3, "struct t1": 3, "struct t2": 3},
	},
	{
		name: "chains that differ by themselves and at the end",
		files: map[string]string{
			"a.c": sink + "void a(void)\n{\n" + chain("int", "x", "y") + chain("int", "z") + "}\n",
			"b.c": sink + "void b(void)\n{\n" + chain("int", "x", "y") + chain("long", "z") + "}\n",
		},
		runs:  12,
		count: map[string]int{"struct t0": 3, "struct t1": 3, "struct t2": 3},
	},
	{
		name:  "a definition below a prototype",
		files: map[string]string{"a.c": sink + "void a(void)\n{\n{\n" + openGet + "}\n}\n"},
		count: map[string]int{"struct dev": 1, "struct ops": 1},
	},
	{
		name: "a definition below a prototype in two units",
		files: map[string]string{
			"a.c": sink + "void a(void)\n{\n{\n" + openGet + "}\n}\n",
			"b.c": sink + "void b(void)\n{\n{\n" + openGet + "}\n}\n",
		},
		count: map[string]int{"struct dev": 1, "struct ops": 1},
	},
	{
		name: "a definition below a prototype beside another one",
		files: map[string]string{
			"a.c": sink + "void a(void)\n{\nstruct ops { char other; } x;\nsink(&x);\n{\n" + openGet +
				"}\n}\n",
			"b.c": sink + "void b(void)\n{\n{\n" + openGet + "}\n}\n",
		},
		count: map[string]int{"struct dev": 1, "struct ops": 2},
	},
	{
		name:  "a definition below a prototype, by gcc 12",
		files: map[string]string{"a.s": belowPrototype},
		count: map[string]int{"struct dev": 1, "struct ops": 2},
	},
	{
		name: "a definition below a prototype in two units, by gcc 12",
		files: map[string]string{
			"a.s": belowPrototype,
			"b.s": strings.ReplaceAll(belowPrototype, "first", "second"),
		},
		count: map[string]int{"struct dev": 1, "struct ops": 2},
	},
	{
		name: "a definition in a prototype",
		files: map[string]string{
			"a.c": sink + "int a(int (*f)(struct ops { int x; } *));\nvoid u(void) { sink(a); }\n",
			"b.c": sink + "struct ops { long y; } b;\nint c(int (*f)(struct ops *o)) { return f(&b); }\n",
		},
		count: map[string]int{"struct ops": 2},
	},
	{
		name: "a union of variable length",
		files: map[string]string{
			"a.c": "struct A { int x; };\n" + sink + variableUnion,
			"b.c": "struct A { long x[4]; };\n" + sink + variableUnion,
		},
		count: map[string]int{"struct A": 2, "union S": 2},
	},
	{
		name: "bit-fields of a typedef's size",
		files: map[string]string{
			"a.c": "typedef int word;\n" + bitFields,
			"b.c": "typedef long word;\n" + bitFields,
		},
		dwarf: []string{"-gdwarf-2", "-gstrict-dwarf"},
		count: map[string]int{"struct S": 2, "typedef word": 2},
	},
	{
		name: "bit-fields of an enum's size",
		files: map[string]string{
			"a.c": "enum word { ONE = 1 };\n#define word enum word\n" + bitFields,
			"b.c": "enum word { ONE = 1ul << 40 };\n#define word enum word\n" + bitFields,
		},
		dwarf: []string{"-gdwarf-2", "-gstrict-dwarf"},
		count: map[string]int{"struct S": 2, "enum word": 2},
	},
	{
		name: "anonymous structs with a method",
		files: map[string]string{
			"a.cc": "#define X int\n#define use use_int\n" + methods,
			"b.cc": "#define X long\n#define use use_long\n" + methods,
		},
		count: map[string]int{"struct ": 2, "typedef V": 2, "typedef P": 2},
	},
	{
		name: "anonymous structs in type units",
		files: map[string]string{
			"a.cc": "static __attribute__((used)) struct t1 {\nstruct { int a; long b; } m1;\n" +
				"struct { char c; } m2;\n} v;\n",
		},
		dwarf: []string{"-gdwarf-5", "-fdebug-types-section"},
		count: map[string]int{"struct t1": 1, "struct ": 2},
	},
	{
		name:     "parameters with known values on the stack",
		files:    map[string]string{"a.c": knownOnStack},
		dwarf:    []string{"-gdwarf-4"},
		features: "default,true_signature",
	},
	{
		name:  "packed structs by value, in type units",
		files: map[string]string{"a.c": packedByValue},
		dwarf: []string{"-gdwarf-5", "-fdebug-types-section"},
	},
	{
		name:  "packed structs by value, at offsets that are expressions",
		files: map[string]string{"a.c": packedByValue},
		dwarf: []string{"-gdwarf-2", "-gstrict-dwarf"},
	},
	{
		name: "a definition below the declaration of a function",
		files: map[string]string{
			"a.c": sink +
				"void a(void)\n{\ntypedef enum { RED } color;\nextern float f(color);\nsink(f);\n}\n",
		},
		count: map[string]int{"typedef color": 1},
	},
	{
		name: "a declaration with equally many votes for each definition",
		files: map[string]string{
			"a.c": sink + "void a(void) { union t1 { int none[0]; } x; sink(&x); }\n",
			"b.c": sink + "void b(void) { struct t0 { union t1 *next; } x; sink(&x); }\n",
			"c.c": sink + "typedef struct t0 *u1[3];\nstruct t0 { union t1 *m2; } v;\n" +
				"void c(void) { struct t0 { int none[0]; } x; sink(&x); }\n" +
				"void d(void) { union t1 { u1 more; } x; sink(&x); }\n",
		},
	},
	{
		name: "statics of one name in files of one name",
		files: map[string]string{
			"d1/core.c": "struct a { int x; };\nstatic __attribute__((used)) struct a state;\n" +
				"static " + perCPU + "struct a count;\nint f1(void) { return state.x; }\n",
			"d2/core.c": "struct b { float y; };\nstatic __attribute__((used)) struct b state;\n" +
				"static " + perCPU + "struct b count;\nint f2(void) { return state.y; }\n",
		},
		count: map[string]int{"struct a": 1, "struct b": 1},
	},
	{
		name: "statics of one name and nothing beside",
		files: map[string]string{
			"d1/core.c": "struct a { int x; };\nstatic " + perCPU + "struct a count;\n",
			"d2/core.c": "struct b { float y; };\nstatic " + perCPU + "struct b count;\n",
		},
		count: map[string]int{"struct a": 1, "struct b": 1},
	},
}

// belowPrototype is the assembly that gcc 12 made from the following source. In its DWARF, struct
// dev is a child of a DW_TAG_subroutine_type.
//
//	void first(void)
//	{
//		struct ops { char other; } x;
//		sink(&x);
//		{
//			struct ops;
//			struct dev { int (*open)(struct ops *); } d;
//			struct ops { int (*get)(struct dev *); int z; } o;
//			sink(&d);
//			sink(&o);
//		}
//	}
//
//go:embed testdata/below_prototype.s
var belowPrototype string

// chain returns a block that defines the structs t0, t1 and t2. Struct t0 points to t1, which
// points to t2, which has a member of the type last. All three have an int member for each name in
// more.
func chain(last string, more ...string) string {
	members := ""
	for _, m := range more {
		members += "int " + m + "; "
	}
	return fmt.Sprintf("{ struct t2 { %s m; %[2]s}; struct t1 { struct t2 *p; %[2]s};\n"+
		"struct t0 { struct t1 *p; %[2]s} v; sink(&v); }\n", last, members)
}

const (
	sink = "extern void sink(void *, ...);\n"

	openGet = `struct ops;
struct dev { int (*open)(struct ops *); } d;
struct ops { int (*get)(struct dev *); int z; } o;
sink(&d, &o);
`
	variableUnion = `
static void use(int n) { union S { struct A a; char varying[n]; } s; sink(&s); }
__attribute__((used)) static void *p = use;
`
	methods = `
static struct { X x; int get() { return x; } } v;
typedef decltype(v) V;
typedef decltype(&v) P;
extern "C" int use(V *a, P b) { v = *a; return v.get() + b->x; }
`
	bitFields = "static __attribute__((used)) struct S { word a : 3; word b : 7; int c; } s;\n"
)

// TestKnown runs all checks on fixed programs.
func TestKnown(t *testing.T) {
	tools := toolsUnderTest(t, "gcc", "ld")
	cache := t.TempDir()
	for _, k := range known {
		for _, opt := range []string{"-O0", "-O2"} {
			t.Run(k.name+opt, func(t *testing.T) {
				if _, cxx := k.files["a.cc"]; cxx {
					harness.Need(t, "g++")
				}
				o := Options{Compilers: []string{"gcc"}, Opt: opt, DWARF: []string{"-gdwarf-5"}, Linker: "ld"}
				if k.compiler != "" {
					o.Compilers = []string{k.compiler}
				}
				if k.dwarf != nil {
					o.DWARF = k.dwarf
				}
				o.Features = k.features
				p := programOf(k.files)
				b := must.Get(NewBuild(p, o, 0, t.TempDir(), cache, tools))(t)
				b.Runs = max(b.Runs, k.runs)
				for _, c := range Checks {
					if c.Applies(p, o) {
						t.Run(c.Name, func(t *testing.T) {
							if err := c.Run(b); err != nil {
								t.Error(err)
							}
						})
					}
				}
				t.Run("count", func(t *testing.T) { wantCount(t, b, k.count) })
			})
		}
	}
}

func programOf(files map[string]string) *Program {
	p := &Program{}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		p.Units = append(p.Units, &Unit{Path: path, root: text(files[path])})
	}
	return p
}

// wantCount checks how many types of each kind and name the program's BTF has.
func wantCount(t *testing.T, b *Build, want map[string]int) {
	have := map[string]int{}
	for _, t := range b.types() {
		have[definitionKind(t)+" "+t.TypeName()]++
	}
	for name, n := range want {
		if have[name] != n {
			t.Errorf("%d of %s, want %d", have[name], name, n)
		}
	}
}
