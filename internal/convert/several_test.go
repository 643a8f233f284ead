package convert

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestSeveralObjects links several sources. The separate objects, the objects joined by ld -r, and
// the linked file must all give the same BTF.
func TestSeveralObjects(t *testing.T) {
	const shared = "struct shared { struct shared *next; enum { ON, OFF } state; }; typedef " +
		"struct shared *ptr;\n"
	for _, tt := range []struct {
		name    string
		sources []string
		flags   []string
		want    []string
		skipped []string
	}{
		{
			name: "one struct in two units",
			sources: []string{
				shared + "int a(struct shared *s) { return s->state; }",
				shared + "int b(ptr p) { return p->state; }",
			},
			want: []string{
				"enum { ON = 0, OFF = 1 } 4 unsigned", "int a(struct shared *s);", "int b(ptr p);",
				"struct shared { struct shared *next @0; " +
					"enum { ON = 0, OFF = 1 } 4 unsigned state @64; } 16",
				"typedef struct shared *ptr;",
			},
		},
		{
			name: "a declaration, and its definition in another unit",
			sources: []string{
				"struct s; typedef struct s *handle; int a(handle h) { return h != 0; }",
				"struct s { int x; }; int b(struct s *s) { return s->x; }",
			},
			want: []string{"int a(handle h);", "int b(struct s *s);", "struct s { int x @0; } 4",
				"typedef struct s *handle;"},
		},
		{
			name: "two structs of one name",
			sources: []string{
				"struct s { int x; }; struct a { struct s *s; }; int a(struct a *p) { return p->s->x; }",
				"struct s { long y; }; struct b { struct s *s; }; int b(struct b *p) { return p->s->y; }",
			},
			want: []string{
				"int a(struct a *p);", "int b(struct b *p);", "struct a { struct s { int x @0; } 4 *s @0; } 8",
				"struct b { struct s { long int y @0; } 8 *s @0; } 8", "struct s { int x @0; } 4",
				"struct s { long int y @0; } 8",
			},
		},
		{
			name: "a weak definition that loses",
			sources: []string{
				"struct weak_only { int w; }; __attribute__((weak)) int f(int t, char *o) { struct " +
					"weak_only w = { t }; return w.w + *o; }",
				"int f(int task, char *other) { return task + *other; }",
			},
			want: []string{"int f(int task, char *other);", "struct weak_only { int w @0; } 4"},
		},
		{
			name: "a weak definition that loses and disagrees",
			sources: []string{
				"__attribute__((weak)) int f(long t) { return t; }",
				"int f(int task) { return task; }",
			},
			want: []string{"int f(int task);"},
		},
		{
			name: "a weak definition that loses to assembly, but is still linked through an alias",
			sources: []string{
				"__attribute__((weak, noinline)) int f(char *t) { return *t; } int f_base(char *) " +
					"__attribute__((alias(\"f\")));",
				"__asm__(\".text; .globl f; .type f, %function; f: ret; .size f, .-f\"); " +
					"int a(void) { return 0; }",
			},
			want: []string{"int a(void);", "int f(char *t);"},
		},
		{
			name: "a definition that loses, is still linked through an alias, and disagrees",
			sources: []string{
				"__attribute__((weak, noinline)) int f(char *t) { return *t; } int f_base(char *) " +
					"__attribute__((alias(\"f\")));",
				"int f(int t) { return t; }",
			},
			want: []string{"int f(int t);"},
		},
		{
			name: "a C++ function with the name of a C function, and two symbols",
			sources: []string{
				"int f(char *p) { return *p; }",
				"extern \"C++\" { int f(int x) { return x; } int g(int) __attribute__((alias(\"_Z1fi\"))); }",
			},
			want: []string{"int f(char *p);"},
		},
		{
			name: "static functions of one name",
			sources: []string{
				"__attribute__((noinline, used)) static int f(int x) { return x + 1; } int a(int x) { " +
					"return f(x); }",
				"__attribute__((noinline, used)) static int f(int x) { return x + 2; } int b(int x) { " +
					"return f(x); }",
			},
			want:    []string{"int a(int x);", "int b(int x);"},
			skipped: []string{"f: ambiguous address"},
		},
		{
			name: "per-CPU variables of one name",
			sources: []string{
				"__attribute__((section(\".data..percpu\"), used)) static int v = 1; " +
					"int a(void) { return v; }",
				"__attribute__((section(\".data..percpu\"), used)) static long v = 2; " +
					"int b(void) { return v; }",
			},
			want: []string{"int a(void);", "int b(void);", "section .data..percpu { v @0 4; v @8 8; } 16",
				"var static int v;", "var static long int v;"},
		},
		{
			name: "a prototype that disagrees, of a function that is inlined everywhere",
			sources: []string{
				"static int f(int x) { return x + 1; } int a(int x) { return f(x); }",
				"int f(char *p) { return *p; }",
			},
			want:    []string{"int a(int x);"},
			skipped: []string{"f: inconsistent prototype"},
		},
		{
			name: "the same, declared inline: what others inline doesn't matter",
			sources: []string{
				"static inline int f(int x) { return x + 1; } int a(int x) { return f(x); }",
				"int f(char *p) { return *p; }",
			},
			want: []string{"int a(int x);", "int f(char *p);"},
		},
		{
			name:  "type units in section groups",
			flags: []string{"-fdebug-types-section"},
			sources: []string{
				shared + "struct first { struct shared s; int x : 3; }; struct first *a(struct shared *s) " +
					"{ return (void *)s; }",
				shared + "struct second { ptr p; struct shared s; }; struct second *b(void) { return 0; }",
			},
			want: []string{
				"enum { ON = 0, OFF = 1 } 4 unsigned", "struct first *a(struct shared *s);",
				"struct first { struct shared s @0; int x:3 @128; } 24",
				"struct second *b(void);", "struct second { ptr p @0; struct shared s @64; } 24",
				"struct shared { struct shared *next @0; " +
					"enum { ON = 0, OFF = 1 } 4 unsigned state @64; } 16",
				"typedef struct shared *ptr;",
			},
		},
		{
			name:  "type units that nothing refers to",
			flags: []string{"-fdebug-types-section"},
			sources: []string{
				"enum tagged { A, B }; enum { C = 5 }; int a(void) { return B + C; }",
				"enum tagged { A, B }; struct s { enum { D } d; }; int b(void) { struct s s = { D }; " +
					"return A + s.d; } enum only_b { E = 9 }; int e(void) { return E; }",
			},
			want: []string{
				"enum tagged { A = 0, B = 1 } 4 unsigned", "enum { C = 5 } 4 unsigned",
				"enum { D = 0 } 4 unsigned", "enum only_b { E = 9 } 4 unsigned",
				"int a(void);", "int b(void);", "int e(void);",
				"struct s { enum { D = 0 } 4 unsigned d @0; } 4",
			},
		},
		{
			name:  "type units that disagree",
			flags: []string{"-fdebug-types-section", "-gdwarf-4"},
			sources: []string{
				"struct s { int x; }; struct a { struct s *s; }; int a(struct a *p) { return p->s->x; }",
				"struct s { long y; }; struct b { struct s *s; }; int b(struct b *p) { return p->s->y; }",
			},
			want: []string{
				"int a(struct a *p);", "int b(struct b *p);", "struct a { struct s { int x @0; } 4 *s @0; } 8",
				"struct b { struct s { long int y @0; } 8 *s @0; } 8", "struct s { int x @0; } 4",
				"struct s { long int y @0; } 8",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			var objs []string
			for i, text := range tt.sources {
				name, ext := string(rune('a'+i)), ".c"
				if strings.HasPrefix(text, `extern "C++"`) {
					ext = ".cc"
					programtest.Need(t, "g++")
				}
				must.OK(t, os.WriteFile(filepath.Join(dir, name+ext), []byte(text), 0o666))
				programtest.Run(t, dir, "gcc", append([]string{"-w", "-std=gnu17", "-g", "-O1",
					"-fno-pic", "-c",
					name + ext}, tt.flags...)...)
				objs = append(objs, filepath.Join(dir, name+".o"))
			}
			linked, joined := filepath.Join(dir, "linked"), filepath.Join(dir, "joined.o")
			linkObjects(t, linked, objs...)
			r := twoRoads(t, "default", linked, objs...)
			slices.Sort(tt.want)
			if d := diff(dump(t, r.BTF, false), tt.want); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
			if got := skippedLines(r); !slices.Equal(got, tt.skipped) {
				t.Errorf("skipped %q, want %q", got, tt.skipped)
			}
			programtest.Run(t, dir, "ld", append([]string{"-r", "-o", joined}, objs...)...)
			twoRoads(t, "default", linked, joined)
			slices.Reverse(objs)
			twoRoads(t, "default", linked, objs...)
		})
	}
}

// TestManySections joins two objects: one has more sections than 16 bits can number, the other has
// DWARF.
func TestManySections(t *testing.T) {
	obj := compileObject(t, "testdata/percpu.c", "-g", "-O1")
	dir := t.TempDir()
	var s strings.Builder
	s.WriteString(".section .note.GNU-stack,\"\"\n")
	for i := range 66000 {
		fmt.Fprintf(&s, ".section .s%d,\"a\"\n.byte 1\n", i)
	}
	must.OK(t, os.WriteFile(filepath.Join(dir, "many.s"), []byte(s.String()), 0o666))
	programtest.Run(t, dir, "gcc", "-c", "many.s")
	programtest.Run(t, dir, "ld", "-r", "-o", "joined.o", "many.o", obj)
	opt := Options{Features: features.Default(), Jobs: 1}
	want := must.Get(object.Write(convertFile(t, obj, opt), 1))(t)
	got := must.Get(object.Write(convertFile(t, filepath.Join(dir, "joined.o"), opt), 1))(t)
	if !bytes.Equal(got, want) {
		t.Error("the object differs")
	}
}

// TestEqualSignatures: gcc gives the same signature to structs that differ only in the type to
// which a pointer leads. If the linker therefore gave a unit another unit's struct, File warns.
func TestEqualSignatures(t *testing.T) {
	dir := t.TempDir()
	link := func(name string, sources ...string) (warnings []string) {
		var objs []string
		for i, text := range sources {
			c := filepath.Join(dir, fmt.Sprintf("%s%d.c", name, i))
			must.OK(t, os.WriteFile(c, []byte(text), 0o666))
			objs = append(objs, c+".o")
			programtest.Run(t, dir, "gcc", "-w", "-g", "-fdebug-types-section", "-c", "-o", c+".o", c)
		}
		linked := filepath.Join(dir, name)
		linkObjects(t, linked, objs...)
		for _, jobs := range []int{1, 2} {
			warnings = nil
			convertFile(t, linked, Options{Features: features.Default(), Jobs: jobs,
				Warn: func(line string) { warnings = append(warnings, line) }})
		}
		return warnings
	}
	unit := func(member, function string) string {
		return "struct target { " + member + " m; }; struct holder { struct target *p; };" +
			"int " + function + "(struct holder *h, struct target *t) { return t->m; }"
	}
	got := link("different", unit("int", "f"), unit("long", "g"))
	if len(got) != 1 || !strings.Contains(got[0], "different1.c has several definitions of target") {
		t.Errorf("warnings %q", got)
	}
	if got := link("equal", unit("int", "f"), unit("int", "g")); len(got) > 0 {
		t.Errorf("no type differs, but there are warnings %q", got)
	}
	if got := link("apart", unit("int", "f"), strings.ReplaceAll(unit("long", "g"), "struct holder",
		"struct other")); len(got) > 0 {
		t.Errorf("no signature is shared, but there are warnings %q", got)
	}
}
