package boot

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/boot/wire"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/e2e/internal/machine"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// programsDir is the directory in the guest that has the BPF programs.
const programsDir = "/bpf"

// compilePrograms compiles the BPF programs in testdata, with headers that bpftool makes from our
// BTF of the modules.
func (k kernel) compilePrograms(t *testing.T, dir, image string) {
	t.Helper()
	headers := filepath.Join(dir, "include")
	for program, module := range programs {
		harness.WriteFile(t, filepath.Join(headers, module+".h"), harness.MustRun(t, "",
			"bpftool", "--base-btf", k.vmlinuxBTF(), "btf", "dump", "file", k.btfOf(dir, module),
			"format", "c"))
		out := filepath.Join(image, programsDir, program+".bpf.o")
		must.OK(t, os.MkdirAll(filepath.Dir(out), 0o777))
		harness.MustRun(t, "", "clang", "--target=bpf", "-mcpu=v3", "-D__TARGET_ARCH_x86",
			"-O2", "-g", "-Wall", "-Werror", "-fms-extensions", "-Wno-microsoft-anon-tag",
			"-I", headers, "-o", out, "-c", filepath.Join("testdata", program+".bpf.c"))
	}
}

// boot runs the kernel in QEMU, with the directory image as the root file system, and returns what
// the guest reported.
func (k kernel) boot(t *testing.T, dir, image string) []wire.Line {
	t.Helper()
	m := machine.X86(os.Getenv("BOOT_QEMU"))
	m.Kernel = filepath.Join(k.dir, "vmlinuz")
	return m.Boot(t, dir, image)
}
