package convert

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestClasses checks what docs/inputs.md says about C++: references are pointers, and a derived
// struct has only its own members, at their offsets.
func TestClasses(t *testing.T) {
	programtest.Need(t, "g++")
	dir := t.TempDir()
	text := `struct base { int a, b; };
		struct derived : base { int c; int &r; derived(int &r) : r(r) {} };
		extern "C" { int f(derived &x, int &&y) { return x.c + y; } }`
	must.OK(t, os.WriteFile(filepath.Join(dir, "a.cc"), []byte(text), 0o666))
	object, linked := filepath.Join(dir, "a.o"), filepath.Join(dir, "a")
	programtest.Run(t, dir, "g++", "-w", "-g", "-O1", "-fno-pic", "-fno-exceptions",
		"-c", "-o", object, "a.cc")
	linkObjects(t, linked, object)
	want := []string{
		"int f(struct derived *x, int *y);",
		"struct base { int a @0; int b @32; } 8",
		"struct derived { int c @64; int *r @128; } 24",
	}
	slices.Sort(want)
	if d := diff(dump(t, twoRoads(t, "default", linked, object).BTF, false), want); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
