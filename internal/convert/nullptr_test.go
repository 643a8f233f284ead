package convert

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestNullPointer: the type of nullptr, which has no size in DWARF, is encoded as void *.
func TestNullPointer(t *testing.T) {
	const text = `
		#ifdef __cplusplus
		#define typeof decltype
		extern "C" {
		#endif
		typedef typeof(nullptr) null;
		struct holder { int a; null b; typeof(nullptr) c; null d[3]; const null *e; };
		union mix { null n; char c; };
		__attribute__((section(".data..percpu"))) null variable = nullptr;
		int f(struct holder *h, union mix *m, null p) { return h->a + m->c; }
		null g(void) { return nullptr; }
		#ifdef __cplusplus
		}
		#endif
	`
	want := []string{
		"int f(struct holder *h, union mix *m, null p);", "null g(void);",
		"section .data..percpu { variable @0 8; } 8",
		"struct holder { int a @0; null b @64; void *c @128; null d[3] @192; const null *e @384; } 56",
		"typedef void *null;", "union mix { null n @0; char c @0; } 8", "var global null variable;",
	}
	done := 0
	for _, compiler := range [][]string{{"gcc", "-std=c23"}, {"clang", "-std=c23"}, {"g++"},
		{"clang++", "-std=c++17"}} {
		dir := t.TempDir()
		source := filepath.Join(dir, "a.c")
		if len(compiler) == 1 || compiler[0] == "clang++" {
			source += "c"
		}
		must.OK(t, os.WriteFile(source, []byte(text), 0o666))
		obj, linked := filepath.Join(dir, "a.o"), filepath.Join(dir, "a")
		cmd := exec.Command(compiler[0], append(slices.Clone(compiler[1:]), "-w", "-g", "-O1",
			"-fno-pic", "-c", "-o", obj, source)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Logf("%s: %v\n%s", compiler, err, out)
			continue // the compiler isn't installed, or is too old
		}
		done++
		linkObjects(t, linked, obj)
		if d := diff(dump(t, twoRoads(t, "default", linked, obj).BTF, false), want); d != "" {
			t.Errorf("%s: -want +got\n%s", compiler, d)
		}
	}
	if done == 0 {
		t.Skip("SKIPPED: no compiler knows nullptr")
	}
}
