package convert

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestDefinitionsThatDifferInOneThing converts files with two units whose definitions of the tag t
// differ in one thing. If fingerprints overlooked this difference, one definition would be lost.
func TestDefinitionsThatDifferInOneThing(t *testing.T) {
	for _, c := range []struct{ what, one, two string }{
		{"a member's offset", "struct t { char a; int b; char c; }",
			"struct t { char a; int b __attribute__((packed)); char c; char d[5]; }"},
		{"the order of offsets", "union t { struct { char x, y; } a; int b; }",
			"union t { struct { char y, x; } a; int b; }"},
		{"where the same members lie", "struct t { char a; char b __attribute__((aligned(2))); long c; }",
			"struct t { char a; char b __attribute__((aligned(4))); long c; }"},
		{"a bitfield's size", "struct t { int a : 3, b : 4; }", "struct t { int a : 3, b : 5; }"},
		{"a member's name", "struct t { int a; }", "struct t { int b; }"},
		{"a member's long name", "struct t { int a_longer_name; }", "struct t { int another_name; }"},
		{"a member's type", "struct t { int a; }", "struct t { unsigned a; }"},
		{"a deep type", "struct t { int *const *a; }", "struct t { unsigned *const *a; }"},
		{"an array's count", "struct t { char a[3]; }", "struct t { char a[4]; }"},
		{"an enumerator's value", "enum t { A = 1 }", "enum t { A = 2 }"},
		{"an enumerator's large value", "enum t { A = 70000 }", "enum t { A = 70001 }"},
		{"an enumerator's sign", "enum t { A = 1, B = -1 }", "enum t { A = 1, B = -2 }"},
		{"a parameter", "struct t { int (*f)(int); }", "struct t { int (*f)(long); }"},
		{"the size alone", "struct t { char a; }", "struct t { char a; } __attribute__((aligned(8)))"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"one.c": c.one, "two.c": c.two} {
			must.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text+" v_"+name[:3]+";\n"),
				0o644))
		}
		programtest.Run(t, dir, "gcc", "-g", "-gdwarf-5", "-fPIC", "-c", "one.c", "two.c")
		// In a linked file strings are compared by offset; in the output of ld -r, by content.
		for _, how := range []string{"-shared", "-r"} {
			out := filepath.Join(dir, "out"+how)
			programtest.Run(t, dir, "ld", how, "-o", out, "one.o", "two.o")
			f, err := elf.Open(out)
			must.OK(t, err)
			o, err := File(f, Options{Features: features.Default(), Jobs: 1})
			f.Close()
			must.OK(t, err)
			found := map[types.ID]bool{}
			for _, u := range o.Units {
				for _, id := range u.Items {
					if n := o.Graph.Node(id); n.IsDefinition() && o.Graph.Name(n) == "t" {
						found[id] = true
					}
				}
			}
			if want := 2; len(found) != want {
				t.Errorf("%s, ld %s: %d definitions of t, want %d", c.what, how, len(found), want)
			}
		}
	}
}
