package convert

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestEnclosedDefinitions converts definitions that aren't direct children of their unit's entry.
// They are in an object, in a file with two units, and in type units.
func TestEnclosedDefinitions(t *testing.T) {
	const other = "struct other { int o; }; int other(struct other *p) { return p->o; }"
	for _, tt := range []struct {
		name, file, text string
		want             []string
	}{
		{
			name: "in a prototype of a member", file: "a.c",
			text: `void use(void *, ...);
				int f(void) {
					{
						struct ops; struct dev { int (*open)(struct ops *); } d;
						struct ops { int (*get)(struct dev *); int z; } o;
						use(&d, &o);
					}
					return 0;
				}`,
			want: []string{
				"struct dev { int (*open)(struct ops *) @0; } 8",
				"struct ops { int (*get)(struct dev *) @0; int z @64; } 16",
			},
		},
		{
			name: "in the prototype of a member of an anonymous struct that only a local variable has",
			file: "a.c",
			text: `void use(void *, ...);
				int f(void) {
					{
						struct ops; struct { int (*open)(struct ops *); } d;
						struct ops { enum colour { RED } c; union deep { int z; } u; } o;
						use(&d, &o);
					}
					return 0;
				}`,
			want: []string{
				"enum colour { RED = 0 } 4 unsigned",
				"struct ops { enum colour c @0; union deep u @32; } 8", "union deep { int z @0; } 4",
			},
		},
		{
			name: "in the prototype of a function that is declared in a block", file: "a.c",
			text: `int f(void) {
					{ struct ops; extern int open(struct ops *); struct ops { int z; } o; open(&o); }
					return 0;
				}`,
			want: []string{"struct ops { int z @0; } 4"},
		},
		{
			name: "one tag in two blocks", file: "a.c",
			text: `void use(void *, ...);
				int f(void) {
					{
						struct ops; struct dev { int (*open)(struct ops *); } d;
						struct ops { int (*get)(struct dev *); int z; } o;
						use(&d, &o);
					}
					{
						struct ops; struct dev { int (*open)(struct ops *); } d;
						struct ops { int (*get)(struct dev *); long z; } o;
						use(&d, &o);
					}
					return 0;
				}`,
			want: []string{
				"struct dev { int (*open)(struct ops { int (*get)(struct dev(self) *) @0; int z @64; } 16 " +
					"*) @0; } 8",
				"struct dev { int (*open)(struct ops { int (*get)(struct dev(self) *) @0; long int z @64; " +
					"} 16 *) @0; } 8",
				"struct ops { int (*get)(struct dev { int (*open)(struct ops(self) *) @0; } 8 *) @0; int z " +
					"@64; } 16",
				"struct ops { int (*get)(struct dev { int (*open)(struct ops(self) *) @0; } 8 *) @0; long " +
					"int z @64; } 16",
			},
		},
		{
			name: "a typedef in the struct that uses it first", file: "a.c",
			text: `void use(void *, ...);
				int f(void) {
					struct ops; typedef int (*call)(struct ops *); call t = 0;
					struct ops { call n; struct { struct inner { int z; } q; } m; } o;
					use(&t, &o); return 0;
				}`,
			want: []string{
				"struct inner { int z @0; } 4", "struct ops { call n @0; struct { struct inner q @0; } 4 m " +
					"@64; } 16",
				"typedef int (*call)(struct ops *);",
			},
		},
		{
			name: "in classes", file: "a.cc",
			text: `struct box {
					struct lid { enum state { OPEN, SHUT } s; } l; typedef int number; number n;
				};
				typedef struct { struct part { int x; } p; int q; } whole;
				extern "C" { int f(box *b, whole *w) { return b->n + w->p.x; } }
				extern "C" {
					int g() {
						struct { struct loc { long y; } l; } u = {{3}};
						volatile long *p = &u.l.y; return *p;
					}
				}`,
			want: []string{
				"enum state { OPEN = 0, SHUT = 1 } 4 unsigned", "int f(struct box *b, whole *w);",
				"int g(void);",
				"struct box { struct lid l @0; number n @32; } 8", "struct lid { enum state s @0; } 4",
				"struct loc { long int y @0; } 8", "struct part { int x @0; } 4", "typedef int number;",
				"typedef struct { struct part p @0; int q @32; } 8 whole;",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			compile := func(file, text string, flags ...string) string {
				t.Helper()
				must.OK(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666))
				compiler := "gcc"
				if filepath.Ext(file) == ".cc" {
					compiler = "g++"
					programtest.Need(t, compiler)
				}
				out := filepath.Join(dir, file+".o")
				programtest.Run(t, dir, compiler, append([]string{"-w", "-g", "-O1", "-fno-pic",
					"-fno-exceptions",
					"-c", "-o", out, file}, flags...)...)
				return out
			}
			second := compile("other.c", other)
			for _, flags := range [][]string{{"-gdwarf-5"}, {"-gdwarf-4"}, {"-fdebug-types-section"}} {
				first := compile(tt.file, tt.text, flags...)
				one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
				linkObjects(t, one, first)
				want := slices.Clone(tt.want)
				if tt.file == "a.c" {
					want = append(want, "int f(void);")
				}
				slices.Sort(want)
				if d := diff(dump(t, twoRoads(t, "default", one, first).BTF, false), want); d != "" {
					t.Errorf("%s: alone (-want +got)\n%s", flags, d)
				}
				linkObjects(t, two, first, second)
				want = append(want, "int other(struct other *p);", "struct other { int o @0; } 4")
				slices.Sort(want)
				if d := diff(dump(t, twoRoads(t, "default", two, first, second).BTF, false),
					want); d != "" {
					t.Errorf("%s: of two units (-want +got)\n%s", flags, d)
				}
			}
		})
	}
}
