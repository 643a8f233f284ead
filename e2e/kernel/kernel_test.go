// Package cloud compares our BTF of a whole distribution kernel with pahole's.
package cloud

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/e2e/internal/oracle"
)

func TestMain(m *testing.M) { harness.Main(m) }

// TestDebianKernel reads the vmlinux that the environment variable VMLINUX
// names, which e2e/fetch-kernel.sh prints.
func TestDebianKernel(t *testing.T) {
	vmlinux := os.Getenv("VMLINUX")
	if vmlinux == "" {
		t.Skip("SKIPPED: set VMLINUX to a kernel with DWARF, such as e2e/fetch-kernel.sh fetches")
	}
	dir := t.TempDir()
	ours := oracle.Blob{Path: filepath.Join(dir, "vmlinux.btf")}
	skipped := filepath.Join(dir, "skipped")
	harness.MustRun(t, "", harness.Tool(t, "btfgen"), "elf", "--lang-exclude=rust", "-o", ours.Path, "--skipped", skipped, vmlinux)

	t.Run("verify", func(t *testing.T) { harness.MustRun(t, "", harness.Tool(t, "btfdedup"), "verify", ours.Path) })
	t.Run("pahole", func(t *testing.T) { oracle.SameTypes(t, vmlinux, ours, skipped, oracle.Pahole(t, vmlinux)) })
	t.Run("kfuncs", func(t *testing.T) { oracle.SameKfuncs(t, ours, vmlinux) })
	t.Run("bpftool", func(t *testing.T) { oracle.Compiles(t, ours) })
	t.Run("kernel", func(t *testing.T) { oracle.KernelAccepts(t, ours) })
}
