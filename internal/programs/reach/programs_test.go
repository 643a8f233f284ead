package reach

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// prelude comes before all test programs. It has types, and macros with short names for what
// programs do with these types.
const prelude = `
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define CORE __attribute__((preserve_access_index))
struct t { int a, b, c, d; } CORE;
struct other { int x; } CORE;
enum e { ONE = 1, TWO };

#define field_size(field) bpf_core_field_size(((struct t *)0)->field)
#define has(field) bpf_core_field_exists(((struct t *)0)->field)
#define size(type) bpf_core_type_size(type)
#define id(type) bpf_core_type_id_kernel(type)
#define exists(type) bpf_core_type_exists(type)
#define matches(type) bpf_core_type_matches(type)
#define value(of) bpf_core_enum_value(enum e, of)
#define has_value(of) bpf_core_enum_value_exists(enum e, of)
#define read(field) ({ int v = 0; bpf_probe_read_kernel(&v, sizeof(v), \
	__builtin_preserve_access_index(&((struct t *)p)->field)); v; })
#define read_other() ({ int v = 0; bpf_probe_read_kernel(&v, sizeof(v), \
	__builtin_preserve_access_index(&((struct other *)p)->x)); v; })
#define any() bpf_get_prandom_u32()
typedef unsigned long addr;

char _license[] SEC("license") = "GPL";
`

// begin comes before the body of the program's function.
const begin = `
SEC("raw_tp/x") int program(void *context)
{
	addr p = bpf_get_current_task();
	int sum = 0;
`

type program struct {
	name, before, body string
	// want lists the conditions of the relocations that aren't guards, sorted by name.
	want string
	// cautious says that a condition may hold although the verifier doesn't reach the instruction.
	// This happens in global functions, and if clang makes a jump depend on a value that isn't known.
	cautious bool
}

var programs = []program{
	{name: "no guard", body: `sum = read(a);`, want: "a: always"},
	{name: "if", body: `if (has(a)) sum = read(a);`, want: "a: has(a)"},
	{name: "if and else", body: `if (has(a)) sum = read(a); else sum = read(b);`,
		want: "a: has(a); b: !has(a)"},
	{name: "return", body: `if (!has(a)) return any(); sum = read(a);`, want: "a: has(a)"},
	{name: "and", body: `if (has(a) && has(b)) sum = read(c);`, want: "c: has(a) & has(b)"},
	{name: "or", body: `if (has(a) || has(b)) sum = read(c);`, want: "c: has(a) | has(b)"},
	{name: "not", body: `if (!has(a)) sum = read(b);`, want: "b: !has(a)"},
	{name: "not and", body: `if (!(has(a) && has(b))) sum = read(c);`, want: "c: !has(a) | !has(b)"},
	{name: "nested", want: "a: has(a); b: has(a) & has(b); c: has(a) & !has(b); d: !has(a)", body: `
		if (has(a)) {
			sum = read(a);
			if (has(b))
				sum += read(b);
			else
				sum += read(c);
		} else {
			sum = read(d);
		}`},
	{name: "exclusive or", body: `if (has(a) != has(b)) sum = read(c);`,
		want: "c: has(a) & !has(b) | !has(a) & has(b)"},
	{name: "bitwise", body: `if ((has(a) | has(b)) & has(c)) sum = read(d);`,
		want: "d: has(a) & has(c) | has(b) & has(c)"},
	{name: "count", body: `int n = has(a) + has(b) + has(c); if (n >= 2) sum = read(d);`,
		want: "d: has(a) & has(b) | has(a) & has(c) | has(b) & has(c)"},
	{name: "stored", body: `_Bool ok = has(a); sum = any(); sum += any(); if (ok) sum += read(a);`,
		want: "a: has(a)"},
	{name: "stored negation", body: `volatile int x = any(); _Bool no = !has(a);
		if (x) no = 1; sum = any(); if (!no) sum += read(a);`, want: "a: has(a)"},
	{name: "chosen", body: `_Bool ok = 0; if (any()) ok = has(a); sum = any();
		if (ok) sum += read(a);`,
		want: "a: has(a)"},
	{name: "chosen by a guard", body: `_Bool ok = has(a) ? has(b) : has(c); sum = any();
		if (ok) sum += read(d);`, want: "d: has(a) & has(b) | !has(a) & has(c)"},
	{name: "chain", want: "a: has(a); b: !has(a) & has(b); c: !has(a) & !has(b) & has(c)", body: `
		if (has(a)) sum = read(a);
		else if (has(b)) sum = read(b);
		else if (has(c)) sum = read(c);`},
	{name: "number of the flavor", body: `
		int flavor = has(a) ? 1 : has(b) ? 2 : has(c) ? 3 : 4;
		sum = any();
		switch (flavor) {
		case 1: sum += read(a); break;
		case 2: sum += read(b); break;
		case 3: sum += read(c); break;
		default: sum += read(d);
		}`, want: "a: has(a); b: !has(a) & has(b); c: !has(a) & !has(b) & has(c); " +
		"d: !has(a) & !has(b) & !has(c)"},
	{name: "size", body: `if (size(struct other) > 0) sum = read_other();`, want: "x: size(other)"},
	{name: "no size", body: `if (!size(struct other)) sum = read(a);`, want: "a: !size(other)"},
	{name: "certain size", body: `if (size(struct other) == 4) sum = read_other();`,
		want: "x: (size(other) == 4)"},
	{name: "large size", body: `if (size(struct other) > 4) sum = read_other();`,
		want: "x: (size(other) > 4)"},
	{name: "small size", body: `if (size(struct other) < 100) sum = read_other();`,
		want: "x: !(size(other) > 99)"},
	{name: "size of at least one byte", body: `if (size(struct other) >= 1) sum = read_other();`,
		want: "x: size(other)"},
	{name: "calculation with a size", body: `if ((size(struct other) ^ 3ul) > 20) sum = read_other();`,
		want: "x: ((size(other) ^ 3) > 20)"},
	{name: "size and guard", body: `if (size(struct other) + has(a) * 2ul > 4) sum = read_other();`,
		want: "x: ((2 + size(other)) > 4) & has(a) | (size(other) > 4) & !has(a)"},
	{name: "size of a field", body: `if (has(b) && field_size(b) == 4) sum = read(a);`,
		want: "a: (b == 4) & has(b); b: has(b)"},
	{name: "value of an enumerator", body: `if (value(TWO) == 2) sum = read(a);`,
		want: "TWO: always; a: (TWO == 2)"},
	{name: "id", body: `if (id(struct other)) sum = read_other();`, want: "x: id(other)"},
	{name: "type", body: `if (exists(struct other)) sum = read_other();`, want: "x: exists(other)"},
	{name: "match", body: `if (matches(struct other)) sum = read_other();`,
		want: "x: matches(other)"},
	{name: "enumerator", body: `if (has_value(TWO)) sum = value(TWO);`, want: "TWO: has_value(TWO)"},
	{name: "with a value before", body: `if (any() && has(a)) sum = read(a);`, want: "a: has(a)"},
	{name: "with a value after", body: `if (has(a) && any()) sum = read(a);`, want: "a: has(a)"},
	{name: "with a value or", body: `if (has(a) || any()) sum = read(a);`, want: "a: always"},
	{name: "with a value bitwise", body: `if (has(a) & (any() > 5)) sum = read(a);`,
		want: "a: has(a)"},
	{name: "loop", body: `for (int i = 0; i < 10 && any(); i++)
		if (has(a)) { sum += any(); p += read(a); }`,
		want: "a: has(a)"},
	{name: "offset before a loop", // clang moves the offset there
		body: `for (int i = 0; i < 10; i++) if (has(a)) sum += read(a) + any();`, want: "a: always"},
	{name: "guarded loop", want: "a: has(a); b: !has(a)", body: `
		if (has(a)) {
			for (int i = 0; i < 100; i++) { sum += read(a); if (any() == 3) break; }
		} else {
			sum = read(b);
		}`},
	{name: "selected", body: `sum = has(a) ? read(a) : read(b);`, want: "a: has(a); b: !has(a)"},
	{name: "twice", body: `if (has(a)) sum = read(a); sum += any(); if (has(a)) sum += read(b);`,
		want: "a: has(a); b: has(a)"},
	{name: "paths that meet", body: `if (has(a)) sum = read(a); else sum = any(); sum += read(b);`,
		want: "a: has(a); b: always"},
	{name: "static function", before: `
		static __noinline int get(addr p) { return read(a) + read(b); }`,
		body: `if (has(a)) sum = get(p);`, want: "a: has(a); b: has(a)"},
	{name: "argument", before: `
		static __noinline int get(addr p, int ok) { return any() + (ok ? read(a) : read(b)); }`,
		body: `sum = get(p, has(a));`, want: "a: has(a); b: !has(a)"},
	{name: "several callers", before: `
		static __noinline int get(addr p, int n) { return any() + (n == 1 ? read(c) : read(d)); }`,
		body: `if (has(a)) sum = get(p, 1); else if (has(b)) sum += get(p, 2);`,
		want: "c: has(a); d: !has(a) & has(b)"},
	{name: "result", before: `
		static __noinline int ok(void) { if (has(b)) return has(a); return 0; }`,
		body: `if (ok()) sum = read(a);`, want: "a: has(a) & has(b)"},
	{name: "function in a function", before: `
		static __noinline int inner(addr p) { return read(a) + any(); }
		static __noinline int outer(addr p) { return any() + (has(b) ? inner(p) : 0); }`,
		body: `if (has(a)) sum = outer(p);`, want: "a: has(a) & has(b)"},
	{name: "global function", before: `__noinline int get(addr p) { return read(a) + read(b); }`,
		body: `if (has(a)) sum = get(p);`, want: "a: always; b: always", cautious: true},
	{name: "guard in a global function", before: `
		__noinline int get(addr p, int ok) { return has(a) && ok ? read(a) : any(); }`,
		body: `sum = get(p, has(b));`, want: "a: has(a)"},
	{name: "result of a global function", before: `__noinline int ok(int n) { return n && has(a); }`,
		body: `if (ok(5)) sum = read(a);`, want: "a: always"},
	{name: "callback", before: `
		static long each(__u32 i, void *context) {
			addr p = *(addr *)context;
			return (has(b) ? read(b) : read(c)) & 1;
		}`, body: `if (has(a)) sum = bpf_loop(5, each, &p, 0);`,
		want: "b: has(a) & has(b); c: has(a) & !has(b)"},
	{name: "spilled", want: "a: has(a); b: !has(b)", body: `
		addr q[4] = { any(), any(), any(), any() }; // all registers that calls keep
		int yes = has(a), no = has(b), i = any(), j = any(), k = any(), l = any(), m = any();
		bpf_probe_read_kernel(q, sizeof(q), (void *)p);
		sum = any() + i + j + k + l + m + q[0] + q[1] + q[2] + q[3];
		if (yes) sum += read(a);
		sum += i * any() + j * any() + k * any() + l * any() + m * any();
		if (!no) sum += read(b);`},
	{name: "in memory that a helper changes", body: `
		int ok = has(a);
		bpf_probe_read_kernel(&ok, sizeof(ok), (void *)p);
		if (ok) sum = read(a);`, want: "a: always"},
	{name: "in memory that a callback changes", before: `
		static long each(__u32 i, void *context) { *(addr *)context = 1; return 0; }`,
		body: `addr ok = has(a); bpf_loop(5, each, &ok, 0); if (ok) sum = read(a);`, want: "a: always"},
	{name: "in memory that a function changes", before: `
		static __noinline void change(addr *ok) { if (any()) *ok = any(); }`,
		body: `addr ok = has(a); change(&ok); if (ok) sum = read(a);`, want: "a: always"},
}

// variants returns the lists of options with which clang compiles the programs.
func variants() (list [][]string) {
	for _, level := range []string{"-O1", "-O2"} {
		for _, cpu := range []string{"v2", "v3", "v4"} {
			list = append(list, []string{level, "-mcpu=" + cpu})
		}
	}
	return list
}

// compileAll returns the path of an object file with all programs: program0, program1 and so on.
func compileAll(t *testing.T, options []string) string {
	dir := programtest.NewDir(t)
	text := prelude
	for i, p := range programs {
		for _, function := range []string{"program", "get", "ok", "inner", "outer", "each", "change"} {
			text += fmt.Sprintf("\n#undef %[1]s\n#define %[1]s %[1]s%[2]d", function, i)
		}
		text += "\n" + p.before + begin + p.body + "\n\treturn sum;\n}\n"
	}
	dir.Write("p.c", text)
	dir.Run("clang", append([]string{"--target=bpf", "-g", "-I/usr/include/x86_64-linux-gnu", "-c",
		"p.c", "-o", "p.o"}, options...)...)
	return dir.Path("p.o")
}

// eachProgram runs a test for each program and each of the variants.
func eachProgram(t *testing.T, test func(t *testing.T, p program, path, function string)) {
	programtest.Need(t, "clang")
	for _, options := range variants() {
		path := compileAll(t, options)
		for i, p := range programs {
			t.Run(fmt.Sprint(p.name, options), func(t *testing.T) {
				test(t, p, path, fmt.Sprint("program", i))
			})
		}
	}
}

// open reads an object file, and returns the object and the function with this name.
func open(t *testing.T, path, name string) (*bpfobj.Object, *bpfobj.Function) {
	o := must.Get(bpfobj.ReadFile(path))(t)
	i := slices.IndexFunc(o.Functions, func(f *bpfobj.Function) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("no function %s", name)
	}
	return o, o.Functions[i]
}

var guardNames = map[core.Kind]string{core.FieldExists: "has", core.TypeSize: "size",
	core.TypeIDTarget: "id", core.TypeExists: "exists", core.TypeMatches: "matches",
	core.EnumvalExists: "has_value"}

// name returns a short name for what a relocation refers to: the last word of the access.
func name(t *testing.T, o *bpfobj.Object, r core.Relocation) string {
	s := must.Get(core.Parse(o.BTF, r))(t)
	text := s.String()
	text = text[strings.LastIndexAny(text, " .")+1:]
	if guard, ok := guardNames[r.Kind]; ok {
		text = guard + "(" + text + ")"
	}
	return text
}

// describe lists the conditions of the relocations that aren't guards. If several instructions read
// one field, it joins their conditions.
func describe(t *testing.T, o *bpfobj.Object, a Analysis) string {
	of := map[string]Condition{}
	for site, c := range a.Conditions {
		if r := site.Function.Relocations[site.Insn]; !r.Kind.IsGuard() {
			of[name(t, o, r)] = append(of[name(t, o, r)], c...)
		}
	}
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(of)) {
		var cubes []string
		for _, cube := range of[key] {
			var words []string
			for _, l := range cube {
				word := l.Test.Words(func(fact int) string {
					s := a.Facts[fact].Site
					return name(t, o, s.Function.Relocations[s.Insn])
				})
				if !l.Found {
					word = "!" + word
				}
				words = append(words, word)
			}
			slices.SortFunc(words, func(a, b string) int {
				return strings.Compare(strings.TrimPrefix(a, "!"), strings.TrimPrefix(b, "!"))
			})
			cubes = append(cubes, strings.Join(words, " & "))
		}
		slices.SortFunc(cubes, func(a, b string) int {
			return strings.Compare(strings.ReplaceAll(a, "!", "~"), strings.ReplaceAll(b, "!", "~"))
		})
		text := strings.Join(slices.Compact(cubes), " | ")
		switch {
		case len(cubes) == 0:
			text = "never"
		case cubes[0] == "":
			text = "always"
		}
		lines = append(lines, key+": "+text)
	}
	return strings.Join(lines, "; ")
}

func TestConditions(t *testing.T) {
	eachProgram(t, func(t *testing.T, p program, path, function string) {
		o, f := open(t, path, function)
		if got := describe(t, o, Analyze(f, nil)); got != p.want {
			t.Errorf("got  %s\nwant %s", got, p.want)
		}
	})
}
