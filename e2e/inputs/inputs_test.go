package inputs

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

var (
	trees  = flag.String("trees", "", "the directory with the kernels none, dwarf, split and btf")
	listed = flag.Int("listed", 20, "how many differences to list for each reason")
)

func TestMain(m *testing.M) {
	flag.Parse()
	harness.Main(m)
}

// kernel is a kernel tree, with the files that have the BTF made from it.
type kernel struct {
	kind, tree string
	object     string // the BTF object made from vmlinux's objects
	btf        string // the BTF of vmlinux
	skipped    compare.Skips
}

// kernelOf returns the tree of the given kind.
func kernelOf(kind string) *kernel {
	return &kernel{kind: kind, tree: filepath.Join(*trees, kind)}
}

// make writes the BTF of vmlinux, made from a tree's objects, to a file in dir.
func (k *kernel) make(t *testing.T, dir string) *kernel {
	t.Helper()
	path := func(suffix string) string { return filepath.Join(dir, k.kind+suffix) }
	btfgen, btfdedup := harness.Tool(t, "btfgen"), harness.Tool(t, "btfdedup")
	k.object, k.btf = path(".btfo"), path(".final")
	argv := append(k.converter(t), "-o", k.object, "vmlinux.a")
	for _, archive := range []string{"lib/lib.a", "arch/x86/lib/lib.a", "arch/arm64/lib/lib.a"} {
		if _, err := os.Stat(filepath.Join(k.tree, archive)); err == nil {
			argv = append(argv, archive)
		}
	}
	harness.MustRun(t, k.tree, argv...)
	harness.MustRun(t, k.tree, btfgen, "facts", "-q", "-o", path(".facts"), "vmlinux")
	harness.MustRun(t, k.tree, btfdedup, "link", "-q", "--facts", path(".facts"), "--skipped",
		path(".skipped"), "-o", k.btf, k.object)
	var err error
	if k.skipped, err = compare.LoadSkips(path(".skipped")); err != nil {
		t.Fatal(err)
	}
	harness.MustRun(t, dir, btfdedup, "verify", k.btf)
	t.Logf("%s: BTF of vmlinux: %d bytes; %d functions and variables skipped", k.kind,
		fileSize(t, k.btf), len(k.skipped))
	return k
}

// converter returns the beginning of the command line that converts objects in the tree.
func (k *kernel) converter(t *testing.T) []string {
	t.Helper()
	input := "--input=dwarf"
	if k.kind == "btf" {
		input = "--input=btf"
	}
	return []string{harness.Tool(t, "btfgen"), "object", "-q", "--lang-exclude=rust", input}
}

// TestKernel compares the kernels in the directory that the flag -trees names.
func TestKernel(t *testing.T) {
	if *trees == "" {
		t.Skip("SKIPPED: no kernels; see e2e/inputs/run")
	}
	dir := t.TempDir()
	dwarf, split, btf := kernelOf("dwarf"), kernelOf("split"), kernelOf("btf")
	for _, k := range []*kernel{dwarf, split, btf} {
		k.make(t, dir)
	}
	t.Run("split", func(t *testing.T) {
		for _, files := range [][2]string{{dwarf.object, split.object}, {dwarf.btf, split.btf}} {
			if a, b := harness.ReadFile(t, files[0]), harness.ReadFile(t, files[1]); !bytes.Equal(a, b) {
				t.Errorf("%s (%d bytes) and %s (%d bytes) differ", files[0], len(a), files[1], len(b))
			}
		}
	})
	t.Run("btf", func(t *testing.T) { explainAll(t, dwarf, btf) })
	t.Run("cost", func(t *testing.T) { logCosts(t, kernelOf("none"), dwarf, split, btf) })
}

// explainAll compares the BTF made from DWARF (d) with the BTF made from compiler-generated BTF
// (b). It lists the differences, grouped by reason.
func explainAll(t *testing.T, d, b *kernel) {
	result := must.Get(harness.Command{Argv: []string{harness.Tool(t, "btfdedup"), "diff",
		"--format=json", d.btf, b.btf}}.Run())(t)
	var all struct {
		Differences []Difference
		Summary     map[string]any
	}
	if err := json.Unmarshal([]byte(result.Stdout), &all); err != nil {
		t.Fatal(err, result.Stderr)
	}
	t.Logf("types: %v", all.Summary)
	blocks := must.Get(ReadBlocks(filepath.Join(d.tree, "vmlinux")))(t)
	byReason := map[string][]string{}
	for _, x := range all.Differences {
		why := Explain(x, blocks, d.skipped, b.skipped)
		byReason[why] = append(byReason[why], x.String())
	}
	for _, why := range slices.Sorted(maps.Keys(byReason)) {
		lines := byReason[why]
		text := strings.Join(lines[:min(len(lines), *listed)], "\n\t")
		if why == "" {
			t.Errorf("%d differences without a reason:\n\t%s", len(lines), text)
		} else {
			t.Logf("%d: %s:\n\t%s", len(lines), why, text)
		}
	}
}
