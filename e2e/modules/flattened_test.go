// Package modules compares our split BTF of all modules of a kernel with the BTF that pahole makes
// from the same modules without a base. Our split BTF together with vmlinux's BTF must have the
// same content as pahole's BTF.
package modules

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/e2e/internal/oracle"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

var sample = flag.Int("sample", 0, "compare only this many modules, evenly spaced; 0 for all")

func TestMain(m *testing.M) { harness.Main(m) }

// TestFlattened compares the modules below the directory that the environment variable TREE names.
// This must be the lib/modules/RELEASE of a kernel, with DWARF in vmlinux and in the modules.
func TestFlattened(t *testing.T) {
	tree := os.Getenv("TREE")
	if tree == "" {
		t.Skip("SKIPPED: set TREE to a lib/modules/RELEASE with DWARF in vmlinux and the modules")
	}
	harness.Need(t, "pahole")
	all := taken(modulesBelow(t, tree), *sample)
	dir := t.TempDir()
	base, out, skipped := filepath.Join(dir, "base"), filepath.Join(dir, "btf"),
		filepath.Join(dir, "skipped")
	harness.MustRun(t, "", harness.Tool(t, "btfgen"), "elf", "-q", "--lang-exclude=rust", "-o", base,
		filepath.Join(tree, "vmlinux"))
	harness.MustRun(t, "", harness.Tool(t, "btfgen"), "modules", "-q", "--lang-exclude=rust",
		"--base", base, "-o", out, "--skipped-dir", skipped, harness.ParamFile(t, all))

	bases := make(chan *kernelBase, runtime.GOMAXPROCS(0))
	for range cap(bases) {
		b := must.Get(readBase(base))(t)
		bases <- b
	}
	var sum totals
	t.Run("modules", func(t *testing.T) {
		for _, ko := range all {
			name := strings.TrimSuffix(filepath.Base(ko), ".ko")
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				whole := oracle.Pahole(t, ko)
				b := <-bases
				defer func() { bases <- b }()
				r := must.Get(flatten(b, filepath.Join(out, name+".btf"), whole.Path))(t)
				oracle.Explain(t, r.Result, r.contents, ko, filepath.Join(skipped, name+".skipped"))
				check(t, r)
				sum.add(name, r)
			})
		}
	})
	if sum.modules == 0 {
		t.Error("no module was compared")
	}
	fmt.Println(&sum)
}

// check reports the differences that have no reason.
func check(t *testing.T, r *flattened) {
	t.Helper()
	for _, d := range r.Unexplained() {
		t.Errorf("%s %s: %s\n  ours   %s\n  pahole %s", d.Class, d.Name, d.Kind,
			strings.Join(d.Ours, "\n         "), strings.Join(d.Oracle, "\n         "))
	}
	if r.types == 0 {
		t.Error("pahole's BTF has no types: nothing was compared")
	}
}

// modulesBelow returns the paths of the modules below a directory.
func modulesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	must.OK(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".ko") {
			list = append(list, path)
		}
		return err
	}))
	if len(list) == 0 {
		t.Fatalf("%s: no modules (*.ko)", dir)
	}
	return list
}

// taken returns n evenly spaced elements of list, or all of them if n is 0.
func taken(list []string, n int) []string {
	if n <= 0 || n >= len(list) {
		return list
	}
	part := make([]string, n)
	for i := range part {
		part[i] = list[i*len(list)/n]
	}
	return part
}
