package cache

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// TestWorkers: persistent workers, sandboxed or not, give the bytes of processes, and do the work.
func TestWorkers(t *testing.T) {
	outputs := []string{"vmlinux_btf.btf", "vmlinux_btf.skipped", "disk_btf.btf", "raid_btf.btf"}
	w := newWorkspace(t, "//:vmlinux_btf", "//:disk_btf", "//:raid_btf")
	ran(t, "processes", w.build())
	want := map[string][]byte{}
	for _, name := range outputs {
		want[name] = bytes.Clone(harness.ReadFile(t, filepath.Join(w.Dir, "bazel-bin", name)))
	}
	plain := w.targets
	for _, more := range [][]string{
		{},
		{"--worker_sandboxing", "--experimental_worker_multiplex_sandboxing"},
	} {
		// Without the disk cache's answers for these actions, or there would be nothing to do.
		w.targets = append(append([]string{"--@rules_btf//rules/settings:workers",
			"--modify_execution_info=Btf(Gen|Link)=+no-cache"}, more...), plain...)
		spawns := ran(t, "workers", w.build())
		for _, s := range spawns {
			// The link of the kernel is based on no base.
			worker := s.Mnemonic == "BtfGen" || s.Mnemonic == "BtfLink" && s.Label != "//:vmlinux_btf"
			if (s.Runner == "worker") != worker && (worker || s.Mnemonic == "BtfLink") {
				t.Errorf("%s of %s ran by %s", s.Mnemonic, s.Label, s.Runner)
			}
		}
		atLeast(t, spawns, "BtfGen", 1)
		for _, name := range outputs {
			if got := harness.ReadFile(t, filepath.Join(w.Dir, "bazel-bin", name)); !bytes.Equal(got,
				want[name]) {
				t.Errorf("%v: %s is not as from processes", more, name)
			}
		}
	}
}
