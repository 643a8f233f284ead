package convert

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestFingerprintsOfUnequalTypes links two units whose types are written alike, but differ because
// of another type in the unit. A file with one unit is converted without fingerprints, so the
// objects show what the linked file must contain.
func TestFingerprintsOfUnequalTypes(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		text       string // X is int in one unit and long in the other
		flags      string
		want       []string // lines that the BTF must have
	}{
		{
			name: "the size of a union with a variable-length array", file: "x.c",
			text: `void use(void *); struct A { X x[3]; };
				void f_X(int n) {
					union S { struct A a; char v[n]; } s; struct T { union S *p; } t; use(&s); use(&t);
				}
				void g_X(int n) {
					struct { struct A a; char v[n]; } s; typedef __typeof__(s) *P; P p = &s; use(p);
				}`,
			want: []string{
				"union S { struct A { int x[3] @0; } 12 a @0; char v[0] @0; } 12",
				"union S { struct A { long int x[3] @0; } 24 a @0; char v[0] @0; } 24",
				"typedef struct { struct A { int x[3] @0; } 12 a @0; char v[0] @96; } 12 *P;",
				"typedef struct { struct A { long int x[3] @0; } 24 a @0; char v[0] @192; } 24 *P;",
			},
		},
		{
			name: "two structs that point to such a union", file: "x.c",
			text: `void use(void *); struct A { X x[3]; };
				void f_X(int n) { union { struct A a; char v[n]; } u; struct V { __typeof__(u) *p; } v;
					struct W { __typeof__(u) *p; } w; use(&u); use(&v); use(&w); }`,
			want: []string{
				"struct V { union { struct A { int x[3] @0; } 12 a @0; char v[0] @0; } 12 *p @0; } 8",
				"struct V { union { struct A { long int x[3] @0; } 24 a @0; char v[0] @0; } 24 *p @0; } 8",
				"struct W { union { struct A { int x[3] @0; } 12 a @0; char v[0] @0; } 12 *p @0; } 8",
				"struct W { union { struct A { long int x[3] @0; } 24 a @0; char v[0] @0; } 24 *p @0; } 8",
			},
		},
		{
			name: "an anonymous struct that its own methods refer to", file: "x.cc",
			text: `static struct { X x; int get() { return x; } } v;
				typedef decltype(v) V; typedef decltype(&v) P;
				extern "C" int f_X(V *a, P b) { v = *a; return v.get() + b->x; }`,
			want: []string{
				"typedef struct { int x @0; } 4 V;", "typedef struct { long int x @0; } 8 V;",
				"typedef struct { int x @0; } 4 *P;", "typedef struct { long int x @0; } 8 *P;",
				"int f_int(V *a, P b);", "int f_long(V *a, P b);",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			compiler := "gcc"
			if filepath.Ext(tt.file) == ".cc" {
				compiler = "g++"
			}
			programtest.Need(t, compiler)
			var objs []string
			for _, x := range []string{"int", "long"} {
				source := x + tt.file
				must.OK(t, os.WriteFile(filepath.Join(dir, source), []byte(tt.text), 0o666))
				out := filepath.Join(dir, x+".o")
				programtest.Run(t, dir, compiler, "-w", "-g", "-O0", "-fno-pic", "-fno-exceptions", "-DX="+x,
					"-Df_X=f_"+x, "-Dg_X=g_"+x, "-c", "-o", out, source)
				objs = append(objs, out)
			}
			linked := filepath.Join(dir, "linked")
			linkObjects(t, linked, objs...)
			got := strings.Join(dump(t, twoRoads(t, "default", linked, objs...).BTF, false), "\n") + "\n"
			for _, line := range tt.want {
				if !strings.Contains(got, line+"\n") {
					t.Errorf("the BTF lacks\n%s\nin\n%s", line, got)
				}
			}
		})
	}
}

// TestManyTogether links two units with more definitions than are looked up together, and with more
// parameters than wait together (maxPending). The units have every other one in common. In a file
// with one unit, all are added one by one.
func TestManyTogether(t *testing.T) {
	programtest.Need(t, "gcc")
	const definition = `struct sN { struct sN *nextN; int dataN; }; enum { EN };
		typedef struct { long mN; } tN;
		int fN_UNIT(struct sN *pN, tN *q) { return pN->dataN + q->mN + EN; }
		void gN_UNIT(int a) {}
		`
	var params strings.Builder
	for i := range maxPending / 150 {
		fmt.Fprintf(&params, "int a%d, ", i)
	}
	dir := t.TempDir()
	var objs []string
	for _, unit := range []string{"a", "b"} {
		var text strings.Builder
		for i := range 200 {
			n := fmt.Sprint(i)
			if i%2 != 0 {
				n += unit
			}
			text.WriteString(strings.NewReplacer("UNIT", unit, "N", n,
				"int a)", params.String()+"int a)").Replace(definition))
		}
		source, out := filepath.Join(dir, unit+".c"), filepath.Join(dir, unit+".o")
		must.OK(t, os.WriteFile(source, []byte(text.String()), 0o666))
		programtest.Run(t, dir, "gcc", "-g", "-O1", "-fno-pic", "-c", "-o", out, source)
		objs = append(objs, out)
	}
	linked := filepath.Join(dir, "linked")
	linkObjects(t, linked, objs...)
	got := dump(t, twoRoads(t, "default", linked, objs...).BTF, false)
	for _, line := range []string{
		"int f198_a(struct s198 *p198, t198 *q);", "int f198_b(struct s198 *p198, t198 *q);",
		"int f199a_a(struct s199a *p199a, t199a *q);", "int f199b_b(struct s199b *p199b, t199b *q);",
	} {
		if !slices.Contains(got, line) {
			t.Errorf("the BTF lacks %s", line)
		}
	}
}
