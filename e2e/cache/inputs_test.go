package cache

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// TestInputs compiles the kernel and its modules with split DWARF, and with BTF from the compiler.
// The result must be the same BTF as with plain DWARF, byte for byte. After an edit of a function's
// body, no action that reads the BTF objects may run, even if the compiler wrote the BTF.
func TestInputs(t *testing.T) {
	source := filepath.Join(t.TempDir(), "a.c")
	harness.WriteFile(t, source, "int a;\n")
	gbtf := exec.Command("gcc", "-gbtf", "-c", "-o", os.DevNull, source).Run() == nil
	all := []string{"//:vmlinux_btf", "//:disk_btf", "//:raid_btf"}
	w := newWorkspace(t, all...)
	w.build()
	plain := w.blobs(t, all)

	t.Run("split DWARF", func(t *testing.T) {
		w.t = t
		// Bazel's command for linking modules, ld -r, doesn't work with --fission.
		w.targets = []string{"--fission=yes", "//:vmlinux_btf"}
		log := executed(t, "with --fission", w.build())
		atLeast(t, log, "BtfGen", 1)
		sameBlobs(t, w.blobs(t, all[:1]), plain)
	})
	t.Run("BTF of the compiler", func(t *testing.T) {
		if !gbtf {
			t.Skip("SKIPPED: no gcc with -gbtf (./bazelw --root-exec has it)")
		}
		w.t = t
		w.targets = append([]string{"--copt=-g0", "--copt=-gbtf"}, all...)
		atLeast(t, executed(t, "with -gbtf", w.build()), "BtfGen", 1)
		sameBlobs(t, w.blobs(t, all), plain)
		w.Edit("lib/string.c", "u64 length = 0;",
			"u64 length = 0; volatile char debug[37] = {1}; debug[1]++;")
		again := executed(t, "with -gbtf after a body edit", w.build())
		want(t, again, "CppCompile", 1)
		atLeast(t, again, "BtfGen", 1)
		want(t, again, "BtfMerge", 0)
		want(t, again, "BtfLink", 0)
	})
}

// blobs returns the BTF that was built. The keys of the result are the targets.
func (w *workspace) blobs(t *testing.T, targets []string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, target := range targets {
		name := strings.TrimPrefix(target, "//:") + ".btf"
		found[target] = string(harness.ReadFile(t, filepath.Join(w.Dir, "bazel-bin", name)))
	}
	return found
}

func sameBlobs(t *testing.T, got, want map[string]string) {
	t.Helper()
	for target, data := range got {
		if data != want[target] {
			t.Errorf("%s: the %d bytes differ from the %d bytes from plain DWARF", target, len(data),
				len(want[target]))
		}
	}
}
