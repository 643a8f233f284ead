package convert

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestDeclaredOnly converts units that only declare a type which they have by value. gcc writes
// such units with -femit-struct-debug-baseonly, clang and g++ for classes in C++. The BTF must obey
// the kernel's rules, whether another unit defines the type or not.
func TestDeclaredOnly(t *testing.T) {
	const pad = " int f(struct own *o) { return !o; }"
	for _, tt := range []struct {
		name, text string
		want       []string // without a definition of struct in and union un
		defined    []string // with the definitions
	}{
		{"a member", "struct own { int a; struct in i; int b; };" + pad,
			[]string{"int f(struct own *o);", "struct own { int a @0; int b @96; } 16"},
			[]string{"int f(struct own *o);",
				"struct own { int a @0; struct in i @32; int b @96; } 16"}},
		{"a member of a union", "struct own { union { union un u; long l; }; };" + pad,
			[]string{"int f(struct own *o);", "struct own { union { long int l @0; } 8 @0; } 8"},
			[]string{"int f(struct own *o);",
				"struct own { union { union un u @0; long int l @0; } 8 @0; } 8"}},
		{"elements", "struct own { struct in a[2][3]; const struct in c; struct in *p; };" + pad,
			[]string{"int f(struct own *o);", "struct own { struct in *p @448; } 64", "struct in;"},
			[]string{"int f(struct own *o);",
				"struct own { struct in a[2][3] @0; const struct in c @384; struct in *p @448; } 64"}},
		{"bitfields beside it", "struct own { int a:3; struct in i; int b:7; };" + pad,
			[]string{"int f(struct own *o);", "struct own { int a:3 @0; int b:7 @96; } 16"},
			[]string{"int f(struct own *o);",
				"struct own { int a:3 @0; struct in i @32; int b:7 @96; } 16"}},
		{"through a typedef", "typedef struct in T; struct own { T t; T a[2]; T *p; };" + pad,
			[]string{"int f(struct own *o);", "struct own { T *p @192; } 32", "struct in;",
				"typedef struct in T;"},
			[]string{"int f(struct own *o);", "struct own { T t @0; T a[2] @64; T *p @192; } 32",
				"typedef struct in T;"}},
		{"pointers to an array and to a prototype",
			"struct own { struct in (*a)[2]; int (*g)(struct in); struct in (*h)(int); };" + pad,
			[]string{"int f(struct own *o);", "struct own { void *a @0; void *g @64; void *h @128; } 24"},
			[]string{"int f(struct own *o);", "struct own { struct in (*a)[2] @0; " +
				"int (*g)(struct in) @64; struct in (*h)(int) @128; } 24"}},
		{"a parameter", "int f(struct in i, int n) { return i.x + n; } int g(int n) { return n; }",
			[]string{"int g(int n);", "f: parameter of a type that is only declared"},
			[]string{"int f(struct in i, int n);", "int g(int n);"}},
		{"variables", "#define P __attribute__((section(\".data..percpu\"), used))\n" +
			"P struct in v; P struct in a[3]; static P union un u; P int n;",
			[]string{"a: its type is only declared", "u: its type is only declared",
				"v: its type is only declared", "section .data..percpu { n @44 4; } 48",
				"var global int n;"},
			[]string{"section .data..percpu { v @0 8; a @16 24; u @40 4; n @44 4; } 48",
				"var global int n;", "var static union un u;", "var global struct in a[3];",
				"var global struct in v;"}},
	} {
		for i, want := range [][]string{tt.want, tt.defined} {
			objects := "bad.o"
			if i == 1 {
				objects += " good.o"
				want = append(want, "struct in { int x @0; int y @32; } 8", "union un { int x @0; } 4")
			}
			path := build(t, fmt.Sprintf(`echo 'struct in { int x, y; }; union un { int x; };' > h.h
				printf '#include "h.h"\n%%b' '%s' > bad.c
				(cat h.h; echo '%s') > good.c
				gcc -g -w -femit-struct-debug-baseonly -c bad.c good.c; ld -r %s -o o`, tt.text,
				"struct in *good1; union un *good2;", objects), "o")
			got := linkStrictly(t, path)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s, defined: %v: got\n%s\nwant\n%s", tt.name, i == 1, strings.Join(got, "\n"),
					strings.Join(want, "\n"))
			}
		}
	}
}

// linkStrictly makes the BTF of a file, checks that it obeys all rules for types, and dumps it with
// the list of what was skipped.
func linkStrictly(t *testing.T, path string) []string {
	t.Helper()
	set := parseFeatures(t, "default")
	f, err := elf.Open(path)
	must.OK(t, err)
	defer f.Close()
	known, err := facts.Extract(f, facts.Options{Features: set})
	must.OK(t, err)
	o := convertFile(t, path, Options{Features: set, Jobs: 1})
	r, err := link.Link([]*object.Object{o}, link.Options{Facts: known, Features: set, Jobs: 1})
	must.OK(t, err)
	blob, err := btf.Parse(r.BTF, nil)
	must.OK(t, err)
	for _, v := range verify.Check(blob, verify.Options{Sorted: true}) {
		t.Errorf("%s: the kernel refuses %v", path, v)
	}
	list := dump(t, r.BTF, false)
	for _, s := range r.Skipped {
		list = append(list, s.Name+": "+s.Reason)
	}
	slices.Sort(list)
	return list
}

// TestMisalignedFloats: a FLOAT that isn't aligned becomes a struct of its size.
func TestMisalignedFloats(t *testing.T) {
	const text = "typedef const double cd; struct __attribute__((packed)) s { char c; double d; cd e; " +
		"float f; double a[2]; long double l; } v; struct t { char c; double d; float f; } w;"
	got := linkStrictly(t, build(t, "echo '"+text+"' > y.c; gcc -g -c y.c -o o", "o"))
	want := []string{"struct s { char c @0; struct { } 8 d @8; struct { } 8 e @72; " +
		"struct { } 4 f @136; double a[2] @168; struct { } 16 l @296; } 53",
		"struct t { char c @0; double d @64; float f @128; } 24",
		"typedef const double cd;"}
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
