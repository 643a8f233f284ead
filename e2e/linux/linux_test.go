// Package linux checks the BTF that Bazel makes of a kernel's objects.
package linux

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/e2e/internal/oracle"
)

// Flags that BUILD.bazel passes: runfiles paths, or lists of them separated by spaces.
var (
	vmlinuxFlag  = flag.String("vmlinux", "", "the linked kernel")
	btfFlag      = flag.String("btf", "", "its BTF")
	skippedFlag  = flag.String("skipped", "", "what was left out of it")
	modulesFlag  = flag.String("modules", "", "the modules, NAME.ko")
	moduleBTF    = flag.String("module_btfs", "", "their BTF, NAME_btf.btf")
	modSkipped   = flag.String("module_skips", "", "what was left out of them, NAME_btf.skipped")
	btfgenFlag   = flag.String("btfgen", "", "btfgen")
	btfdedupFlag = flag.String("btfdedup", "", "btfdedup")
)

func runfile(path string) string { return filepath.Join(os.Getenv("TEST_SRCDIR"), path) }

func runfiles(list string) []string {
	var out []string
	for _, p := range strings.Fields(list) {
		out = append(out, runfile(p))
	}
	return out
}

func TestMain(m *testing.M) {
	flag.Parse()
	// Bazel leaves out where Debian has bpftool.
	os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin")
	if *btfgenFlag != "" {
		os.Setenv("BTFGEN", runfile(*btfgenFlag))
		os.Setenv("BTFDEDUP", runfile(*btfdedupFlag))
	}
	harness.Main(m)
}

// graph returns what Bazel built, and skips the test where Bazel doesn't run it.
func graph(t *testing.T) (vmlinux string, btf oracle.Blob) {
	t.Helper()
	if *vmlinuxFlag == "" {
		t.Skip("SKIPPED: bazel test //... in e2e/linux runs this")
	}
	return runfile(*vmlinuxFlag), oracle.Blob{Path: runfile(*btfFlag)}
}

// module is one module and what Bazel made for it.
type module struct {
	name, ko, skipped string
	btf               oracle.Blob
}

func modules(t *testing.T) []module {
	t.Helper()
	_, base := graph(t)
	find := func(list, name string) string {
		for _, p := range runfiles(list) {
			if filepath.Base(p) == name {
				return p
			}
		}
		t.Fatalf("Bazel built no %s", name)
		return ""
	}
	var out []module
	for _, ko := range runfiles(*modulesFlag) {
		name := strings.TrimSuffix(filepath.Base(ko), ".ko")
		out = append(out, module{name, ko, find(*modSkipped, name+"_btf.skipped"),
			oracle.Blob{Path: find(*moduleBTF, name+"_btf.btf"), Bases: []string{base.Path}}})
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

// TestElfAndGraph compares the bytes that btfgen elf makes of the linked kernel with those that the
// actions make of its objects.
func TestElfAndGraph(t *testing.T) {
	vmlinux, btf := graph(t)
	elf := func(t *testing.T, in, want string, options ...string) {
		t.Helper()
		out := filepath.Join(t.TempDir(), "elf.btf")
		harness.MustRun(t, "", append([]string{harness.Tool(t, "btfgen"), "elf", "-o", out, in},
			options...)...)
		if !bytes.Equal(harness.ReadFile(t, out), harness.ReadFile(t, want)) {
			r, err := harness.Command{Argv: append([]string{harness.Tool(t, "btfdedup"), "diff"},
				append(diffBases(options), out, want)...)}.Run()
			if err != nil {
				t.Fatal(err)
			}
			t.Errorf("%s: btfgen elf and the graph differ: %s", filepath.Base(in),
				head(r.Stdout+r.Stderr))
		}
	}
	t.Run("vmlinux", func(t *testing.T) { elf(t, vmlinux, btf.Path) })
	for _, m := range modules(t) {
		t.Run(m.name, func(t *testing.T) { elf(t, m.ko, m.btf.Path, "--base", btf.Path) })
	}
}

// diffBases turns --base into what btfdedup diff calls the bases of both sides.
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
		oracle.SameTypes(t, vmlinux, btf, runfile(*skippedFlag), reference)
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
