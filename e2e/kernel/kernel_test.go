// Package kernel compares our BTF of a linked kernel and its modules with pahole's BTF. It works
// for kernels with DWARF for any architecture.
package kernel

import (
	"debug/elf"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/e2e/internal/oracle"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func TestMain(m *testing.M) { harness.Main(m) }

// vmlinux returns the value of the environment variable VMLINUX: the path of a kernel with DWARF.
func vmlinux(t *testing.T) string {
	t.Helper()
	path := os.Getenv("VMLINUX")
	if path == "" {
		t.Skip("SKIPPED: set VMLINUX to a kernel with DWARF, such as e2e/fetch-kernel.sh fetches")
	}
	return path
}

// encode runs "btfgen elf" on a file, with the given bases and options, and verifies the BTF. The
// second result is the path of the list of skipped functions and variables.
func encode(t *testing.T, file string, bases []string, options ...string) (oracle.Blob, string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), filepath.Base(file))
	ours := oracle.Blob{Path: out + ".btf", Bases: bases}
	skipped := out + ".skipped"
	argv := []string{harness.Tool(t, "btfgen"), "elf", "--lang-exclude=rust", "-o", ours.Path,
		"--skipped", skipped}
	verify := []string{harness.Tool(t, "btfdedup"), "verify", ours.Path}
	for _, b := range bases {
		argv = append(argv, "--base="+b)
		verify = append(verify, "--base="+b)
	}
	harness.MustRun(t, "", append(append(argv, options...), file)...)
	harness.MustRun(t, "", verify...)
	return ours, skipped
}

// TestKernel compares the BTF of the kernel, and of the modules that the environment variable
// MODULES names: files or directories, separated by spaces.
func TestKernel(t *testing.T) {
	vmlinux := vmlinux(t)
	ours, skipped := encode(t, vmlinux, nil)
	pahole := oracle.Pahole(t, vmlinux)

	t.Run("pahole", func(t *testing.T) { oracle.SameTypes(t, vmlinux, ours, skipped, pahole) })
	t.Run("kfuncs", func(t *testing.T) { oracle.SameKfuncs(t, ours, vmlinux) })
	t.Run("bpftool", func(t *testing.T) { oracle.Compiles(t, ours) })
	t.Run("kernel", func(t *testing.T) {
		if !loads(t, vmlinux) {
			t.Skip("SKIPPED: the running kernel accepts only BTF with its own pointer size and byte order")
		}
		oracle.KernelAccepts(t, ours)
	})
	for _, ko := range modules(t) {
		t.Run(filepath.Base(ko), func(t *testing.T) {
			ours, skipped := encode(t, ko, []string{ours.Path})
			oracle.SameTypes(t, ko, ours, skipped, oracle.Pahole(t, ko, pahole.Path))
		})
	}
}

// loads reports whether the running kernel, which is 64-bit and little-endian, can accept BTF with
// the pointer size and byte order of vmlinux.
func loads(t *testing.T, vmlinux string) bool {
	f := header(t, vmlinux)
	return f.Class == elf.ELFCLASS64 && f.Data == elf.ELFDATA2LSB
}

// TestKernelWithRust converts the kernel including its Rust units, if it has any. The result must
// have everything that a conversion of only the C units gives. The running kernel must accept the
// result, if the pointer size and byte order are right.
func TestKernelWithRust(t *testing.T) {
	vmlinux := vmlinux(t)
	without, _ := encode(t, vmlinux, nil)
	with, _ := encode(t, vmlinux, nil, "--lang-exclude=")
	if loads(t, vmlinux) {
		oracle.KernelAccepts(t, with)
	}
	r := must.Get(harness.Command{Argv: []string{harness.Tool(t, "btfdedup"), "diff", "--format=json",
		without.Path, with.Path}}.Run())(t)
	var result struct {
		Summary     map[string]any
		Differences []struct{ Class, Type string }
	}
	if err := json.Unmarshal([]byte(r.Stdout), &result); err != nil {
		t.Fatal(err, r.Stderr)
	}
	t.Log(result.Summary)
	for _, d := range result.Differences {
		if d.Class == "only in A" && !strings.HasPrefix(d.Type, "forward") {
			t.Errorf("missing: %s", d.Type)
		}
	}
}

// TestMoreFeatures compares our BTF of the kernel with pahole's, with features that the kernel's
// own build doesn't enable.
func TestMoreFeatures(t *testing.T) {
	vmlinux := vmlinux(t)
	const features = oracle.Features + ",attributes,global_var"
	ours, skipped := encode(t, vmlinux, nil, "--features="+features)
	oracle.SameTypes(t, vmlinux, ours, skipped, oracle.PaholeWith(t, features, vmlinux))
}

func header(t *testing.T, path string) elf.FileHeader {
	t.Helper()
	f := must.Get(elf.Open(path))(t)
	defer f.Close()
	return f.FileHeader
}

func modules(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, place := range strings.Fields(os.Getenv("MODULES")) {
		before := len(found)
		must.OK(t, filepath.WalkDir(place, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && (path == place || strings.HasSuffix(path, ".ko") ||
				strings.HasSuffix(path, ".ko.debug")) {
				found = append(found, path)
			}
			return err
		}))
		if len(found) == before {
			t.Fatalf("MODULES: no module in %s", place)
		}
	}
	return found
}
