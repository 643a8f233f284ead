// Package linux checks the BTF that Bazel makes from the objects of the kernel in this directory.
package linux

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/e2e/internal/oracle"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func TestMain(m *testing.M) {
	// Debian installs bpftool in /usr/sbin.
	os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin")
	harness.Main(m)
}

// built returns the only file in bazel-bin that matches a pattern and is from the repository of the
// kernel.
func built(t *testing.T, pattern string) string {
	t.Helper()
	pattern = filepath.Join(harness.Repo(), "e2e/linux/bazel-bin/external/*kernel", pattern)
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %d files, %v; build //... in e2e/linux", pattern, len(found), err)
	}
	return found[0]
}

// graph returns the linked kernel, and the BTF that Bazel's actions made from the kernel's objects.
func graph(t *testing.T) (vmlinux string, btf oracle.Blob) {
	t.Helper()
	kernel := harness.Kernel(t)
	return filepath.Join(kernel, "vmlinux"), oracle.Blob{Path: built(t, "vmlinux_btf.btf")}
}

// module is a module of the kernel, with the files that Bazel made for it.
type module struct {
	name, ko, skipped string
	btf               oracle.Blob
}

func modules(t *testing.T) []module {
	t.Helper()
	_, base := graph(t)
	kernel := harness.Kernel(t)
	var out []module
	order := harness.ReadFile(t, filepath.Join(kernel, "modules.order"))
	for line := range strings.Lines(string(order)) {
		ko := strings.TrimSuffix(strings.TrimSpace(line), ".o") + ".ko"
		name := strings.TrimSuffix(filepath.Base(ko), ".ko")
		out = append(out, module{name, filepath.Join(kernel, ko), built(t, name+"_btf.skipped"),
			oracle.Blob{Path: built(t, name+"_btf.btf"), Bases: []string{base.Path}}})
	}
	if len(out) == 0 {
		t.Fatal("the kernel has no modules")
	}
	return out
}

func TestVerify(t *testing.T) {
	_, btf := graph(t)
	harness.MustRun(t, "", harness.Tool(t, "btfdedup"), "verify", btf.Path)
	for _, m := range modules(t) {
		harness.MustRun(t, "", harness.Tool(t, "btfdedup"), "verify", "--base", btf.Path, m.btf.Path)
	}
}

// TestElfAndGraph checks that "btfgen elf" makes the same BTF from the linked kernel and modules as
// Bazel's actions make from the objects.
func TestElfAndGraph(t *testing.T) {
	vmlinux, btf := graph(t)
	elf := func(t *testing.T, in, want string, options ...string) {
		t.Helper()
		out := filepath.Join(t.TempDir(), "elf.btf")
		harness.MustRun(t, "", append([]string{harness.Tool(t, "btfgen"), "elf", "-o", out, in},
			options...)...)
		if !bytes.Equal(harness.ReadFile(t, out), harness.ReadFile(t, want)) {
			r := must.Get(harness.Command{Argv: append([]string{harness.Tool(t, "btfdedup"), "diff"},
				append(diffBases(options), out, want)...)}.Run())(t)
			t.Errorf("%s: btfgen elf and Bazel's actions make different BTF: %s", filepath.Base(in),
				head(r.Stdout+r.Stderr))
		}
	}
	t.Run("vmlinux", func(t *testing.T) { elf(t, vmlinux, btf.Path) })
	for _, m := range modules(t) {
		t.Run(m.name, func(t *testing.T) { elf(t, m.ko, m.btf.Path, "--base", btf.Path) })
	}
}

// diffBases turns the option --base into two options for "btfdedup diff", which name the base of
// each of the two files.
func diffBases(options []string) []string {
	if len(options) == 0 {
		return nil
	}
	return []string{"--base-a", options[1], "--base-b", options[1]}
}

func head(s string) string {
	if len(s) > 3000 {
		s = s[:3000] + "..."
	}
	return s
}

func TestPahole(t *testing.T) {
	vmlinux, btf := graph(t)
	reference := oracle.Pahole(t, vmlinux)
	t.Run("vmlinux", func(t *testing.T) {
		oracle.SameTypes(t, vmlinux, btf, built(t, "vmlinux_btf.skipped"), reference)
	})
	for _, m := range modules(t) {
		t.Run(m.name, func(t *testing.T) {
			oracle.SameTypes(t, m.ko, m.btf, m.skipped, oracle.Pahole(t, m.ko, reference.Path))
		})
	}
}

func TestKfuncs(t *testing.T) {
	vmlinux, btf := graph(t)
	oracle.SameKfuncs(t, btf, vmlinux)
}

func TestBpftool(t *testing.T) {
	_, btf := graph(t)
	oracle.Compiles(t, btf)
	for _, m := range modules(t) {
		t.Run(m.name, func(t *testing.T) { oracle.Compiles(t, m.btf) })
	}
}

func TestKernelAccepts(t *testing.T) {
	_, btf := graph(t)
	oracle.KernelAccepts(t, btf)
	for _, m := range modules(t) {
		t.Run(m.name, func(t *testing.T) { oracle.KernelAccepts(t, m.btf) })
	}
}
