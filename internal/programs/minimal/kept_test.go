package minimal_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/programs/bpftest"
	"github.com/rules-btf/rules_btf/internal/programs/minimal"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
)

const nested = "struct in { long x; int y; };" +
	"struct s { int a; struct in in; struct in *p; }; struct s s;"

// keptCases has programs, and the types that are kept for them. Base types aren't listed.
var keptCases = []struct {
	name, kernel, module, program string
	opt                           minimal.Options
	want                          []string
}{
	{
		name:   "a field: the members on the way to it",
		kernel: nested,
		program: "struct s { struct { int y; } P in; } P;" +
			"PROG { out = byte_off(((struct s *)0)->in.y); }",
		want: []string{"STRUCT in size 16; y at 64:0 INT int",
			"STRUCT s size 32; in at 64:0 STRUCT in size 16"},
	},
	{
		name:    "a pointer: not what it leads to",
		kernel:  nested,
		program: "struct s { void *p; } P; PROG { out = byte_off(((struct s *)0)->p); }",
		want:    []string{"PTR  (void)", "STRUCT s size 32; p at 192:0 PTR  (void)"},
	},
	{
		name:    "a type: no members",
		kernel:  nested,
		program: "struct s { int a; } P; PROG { out = type_size(struct s); }",
		want:    []string{"STRUCT s size 32"},
	},
	{
		name:    "type_matches: all members",
		kernel:  "struct in { long x; }; struct s { int a; struct in *p; }; struct s s;",
		program: "struct s { int a; } P; PROG { out = type_matches(struct s); }",
		want: []string{"PTR  (STRUCT in size 8)", "STRUCT in size 8",
			"STRUCT s size 16; a at 0:0 INT int; p at 64:0 PTR  (STRUCT in size 8)"},
	},
	{
		name:    "an enumerator: the whole enum",
		kernel:  "enum e { A, B = 7 }; enum e e;",
		program: "enum e { B }; PROG { out = enum_value(enum e, B); }",
		want:    []string{"ENUM e size 4; A = 0; B = 7"},
	},
	{
		name:    "what is missing: nothing",
		kernel:  "struct s { int a; }; struct s s;",
		program: "struct s { int b; } P; PROG { out = field_exists(((struct s *)0)->b); }",
	},
	{
		name:   "a pointer that must not match: all of the type",
		kernel: "struct in { long x; }; struct s { struct in *p; }; struct s s;",
		program: "struct s { void *p; } P; PROG { out = byte_off(((struct s *)0)->p);" +
			"out = type_matches(struct s); }",
		want: []string{"PTR  (STRUCT in size 8)", "STRUCT in size 8",
			"STRUCT s size 8; p at 0:0 PTR  (STRUCT in size 8)"},
	},
	{
		name:   "an array of no elements, not at the end: all of the type",
		kernel: "struct s { int n; int none[0]; int last; }; struct s s;",
		program: "struct s { int none[2]; } P; PROG { out = byte_off(((struct s *)0)->none);" +
			"out = field_exists(((struct s *)0)->none[1]); }",
		want: []string{"ARRAY [0] (INT int) (INT int)", "STRUCT s size 8; n at 0:0 INT int; " +
			"none at 32:0 ARRAY [0] (INT int) (INT int); last at 32:0 INT int"},
	},
	{
		name:   "a module: its types are based on those of vmlinux",
		kernel: "struct in { long x; int y; }; struct in in;",
		module: "struct in { long x; int y; }; struct own { int a; struct in in; }; struct own own;",
		program: "struct own { struct { int y; } P in; } P;" +
			"PROG { out = byte_off(((struct own *)0)->in.y); }",
		want: []string{"STRUCT in size 16; y at 64:0 INT int",
			"m0: STRUCT own size 24; in at 64:0 STRUCT in size 16"},
	},
	{
		name:   "a module, flat",
		kernel: "struct in { long x; int y; }; struct in in;",
		module: "struct in { long x; int y; }; struct own { int a; struct in in; }; struct own own;",
		program: "struct own { struct { int y; } P in; } P;" +
			"PROG { out = byte_off(((struct own *)0)->in.y); }",
		opt: minimal.Options{Flat: true},
		want: []string{"STRUCT in size 16; y at 64:0 INT int",
			"STRUCT own size 24; in at 64:0 STRUCT in size 16"},
	},
	{
		name:   "a type in vmlinux hides one in a module, though it lacks the enumerator",
		kernel: "enum e { A }; enum e e;",
		module: "enum e { A, B }; struct own { enum e e; }; struct own own;",
		program: "enum e { B }; struct own { enum e e; } P; PROG { out = enum_exists(enum e, B);" +
			"out = byte_off(((struct own *)0)->e); }",
		want: []string{"ENUM e size 4; A = 0", "m0: ENUM e size 4; A = 0; B = 1",
			"m0: STRUCT own size 4; e at 0:0 ENUM e size 4; A = 0; B = 1"},
	},
	{
		name:    "hooks: a function",
		kernel:  "struct s { int a; }; int f(struct s *s) { return s->a; }",
		program: "SEC(\"fentry/f\") int p(void *ctx) { return 0; }",
		opt:     minimal.Options{Hooks: true},
		want: []string{"FUNC f (FUNC_PROTO  (INT int) (PTR  (STRUCT s size 4)))",
			"FUNC_PROTO  (INT int) (PTR  (STRUCT s size 4))", "PTR  (STRUCT s size 4)", "STRUCT s size 4"},
	},
	{
		name:    "hooks: a function of a module",
		kernel:  "int f(int a) { return a; }",
		module:  "int f(int a, int b) { return a; }",
		program: "SEC(\"fentry/m0:f\") int p(void *ctx) { return 0; }",
		opt:     minimal.Options{Hooks: true},
		want: []string{"m0: FUNC f (FUNC_PROTO  (INT int) (INT int) (INT int))",
			"m0: FUNC_PROTO  (INT int) (INT int) (INT int)"},
	},
	{
		name:    "hooks: a function of a module, flat",
		kernel:  "int f(int a) { return a; }",
		module:  "int f(int a, int b) { return a; }",
		program: "SEC(\"fentry/m0:f\") int p(void *ctx) { return 0; }",
		opt:     minimal.Options{Hooks: true, Flat: true},
		want: []string{"DECL_TAG module:m0 (FUNC f (FUNC_PROTO  (INT int) (INT int) (INT int)))",
			"FUNC f (FUNC_PROTO  (INT int) (INT int) (INT int))",
			"FUNC_PROTO  (INT int) (INT int) (INT int)"},
	},
	{
		name:    "hooks: a function of vmlinux, not of a module",
		kernel:  "int f(int a) { return a; }",
		module:  "int f(int a, int b) { return a; }",
		program: "SEC(\"fentry/vmlinux:f\") int p(void *ctx) { return 0; }",
		opt:     minimal.Options{Hooks: true},
		want:    []string{"FUNC f (FUNC_PROTO  (INT int) (INT int))", "FUNC_PROTO  (INT int) (INT int)"},
	},
	{
		name: "hooks: struct_ops",
		kernel: "struct s { int a; }; struct ops { int flags; void (*begin)(struct s *), (*other)(int);" +
			"long unset; }; struct bpf_struct_ops_ops { long common; struct ops data; } v;",
		program: "struct ops___v1 { void (*begin)(void), (*gone)(void); long unset;};" +
			"SEC(\"struct_ops\") int begin(void *ctx) { return 0;}" +
			"SEC(\".struct_ops\") struct ops___v1 map = { .begin = (void *)begin };",
		opt: minimal.Options{Hooks: true},
		want: []string{"FUNC_PROTO  (void) (PTR  (STRUCT s size 4))",
			"PTR  (FUNC_PROTO  (void) (PTR  (STRUCT s size 4)))", "PTR  (STRUCT s size 4)",
			"STRUCT bpf_struct_ops_ops size 40; data at 64:0 STRUCT ops size 32",
			"STRUCT ops size 32; begin at 64:0 PTR  (FUNC_PROTO  (void) (PTR  (STRUCT s size 4))); " +
				"unset at 192:0 INT long int size 8 1000040", "STRUCT s size 4"},
	},
	{
		name: "hooks: a kptr", kernel: nested,
		program: "struct in { int any;}; struct v {" +
			"struct in __attribute__((btf_type_tag(\"kptr\"))) *p;};" +
			"struct { int (*type)[1], *key; struct v *value;} map SEC(\".maps\");" +
			"PROG { out = (long)&map; }",
		opt:  minimal.Options{Hooks: true},
		want: []string{"STRUCT in size 16"},
	},
	{
		name:    "hooks: not without the option",
		kernel:  "struct s { int a; }; int f(struct s *s) { return s->a; }",
		program: "SEC(\"fentry/f\") int p(void *ctx) { return 0; }",
	},
}

// compileProgram returns the object file of a program whose source has PROG in place of the
// beginning of the function.
func compileProgram(t *testing.T, source string) []byte {
	t.Helper()
	return bpftest.Compile(t, strings.ReplaceAll(source, "PROG",
		`SEC("socket") int p(void *ctx)`))
}

func TestKept(t *testing.T) {
	for _, c := range keptCases {
		t.Run(c.name, func(t *testing.T) {
			blobs := [][]byte{bpftest.Kernel(t, c.kernel)}
			if c.module != "" {
				blobs = append(blobs, bpftest.Module(t, blobs[0], c.module))
			}
			source := strings.ReplaceAll(c.program, "; }", "; return 0; }")
			source = strings.ReplaceAll(source, "; return 0; } P", "; } P")
			list := extract(t, compileProgram(t, source))
			r := build(t, bpftest.Parse(t, blobs[0], blobs[1:]...), c.opt, list)
			var got []string
			for x := range contents(t, r.Vmlinux, nil) {
				got = append(got, x)
			}
			for _, name := range slices.Sorted(maps.Keys(r.Modules)) {
				for x := range contents(t, r.Modules[name], r.Vmlinux) {
					got = append(got, name+": "+x)
				}
			}
			got = slices.DeleteFunc(got, func(x string) bool { return strings.HasPrefix(x, "INT") })
			for i, x := range got {
				got[i] = intSize.ReplaceAllString(x, "INT int")
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
			}
		})
	}
}

// TestFlatConflict checks the error if a module and vmlinux have different types of one name. The
// programs need both, but one file can't have both.
func TestFlatConflict(t *testing.T) {
	vmlinux := bpftest.Kernel(t, "struct in { long x; }; struct in in;")
	module := bpftest.Module(t, vmlinux, "struct in { int y; }; struct own { struct in in; };"+
		"struct own own;")
	object := bpftest.Compile(t, "struct in { int y; } P; struct own { struct in in; } P;"+
		`SEC("socket") int p(void *ctx) { out = type_size(struct in);`+
		"out = byte_off(((struct own *)0)->in); return 0; }")
	n := extract(t, object)
	k := bpftest.Parse(t, vmlinux, module)
	build(t, k, minimal.Options{}, n)
	_, err := minimal.Build(k, []*needs.Needs{n}, minimal.Options{Flat: true})
	want := "minimal BTF: type_size struct in resolves to a different type than in the full BTF; " +
		"if a module has another type with the same name, keep the modules' types out of the " +
		"vmlinux BTF"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
