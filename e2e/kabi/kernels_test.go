package kabi

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/e2e/internal/content"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// These match the first line about a type or function in the output of abidiff --leaf-changes-only.
// Anonymous types are left out: btfdedup compares them as parts of other types.
var (
	leafType     = regexp.MustCompile(`(?m)^'([^{']+)' changed:`)
	leafFunction = regexp.MustCompile(`(?m)^  \[[CD]\] 'function [^'(]*?(\w+)\(`)
)

// TestKernels compares the kernels whose BTF is in the files BTF_A and BTF_B. Each type or function
// that abidiff lists must be a difference for us. SYMBOLS names a file with exported functions, one
// on each line. abidiff needs minutes, even for a few functions.
func TestKernels(t *testing.T) {
	if os.Getenv("ABIDIFF") == "" || os.Getenv("BTF_A") == "" {
		t.Skip("SKIPPED: ABIDIFF, BTF_A, BTF_B and SYMBOLS aren't set (see e2e/README.md)")
	}
	harness.Need(t, "gcc", "objcopy")
	dir := t.TempDir()
	files := [2]string{os.Getenv("BTF_A"), os.Getenv("BTF_B")}
	symbols := strings.Fields(string(harness.ReadFile(t, os.Getenv("SYMBOLS"))))
	for _, file := range files {
		functions := functionsOf(t, file)
		symbols = slices.DeleteFunc(symbols, func(s string) bool { return !functions[s] })
	}
	list := filepath.Join(dir, "symbols")
	harness.WriteFile(t, list, strings.Join(symbols, "\n")+"\n")

	// abidiff takes the exported functions from the symbols of an ELF file.
	var source strings.Builder
	for _, s := range symbols {
		fmt.Fprintf(&source, exported, s)
	}
	harness.WriteFile(t, filepath.Join(dir, "symbols.s"), source.String())
	for i, file := range files {
		object := []string{"a.o", "b.o"}[i]
		harness.MustRun(t, dir, "gcc", "-c", "-o", object, "symbols.s")
		harness.MustRun(t, dir, "objcopy", "--add-section", ".BTF="+file, object)
	}
	r, err := harness.Command{Argv: []string{os.Getenv("ABIDIFF"), "--btf", "--leaf-changes-only",
		"--no-show-locs", "a.o", "b.o"}, Dir: dir, Timeout: abidiffTimeout}.Run()
	if err != nil || r.Exit < 0 || r.Exit&3 != 0 {
		t.Fatalf("abidiff: %v, exit %d\n%s", err, r.Exit, r.Stderr)
	}
	report := readReport(t, "--indirect", "--symbols", list, files[0], files[1])
	byName := map[string]*difference{}
	for i := range report.Differences {
		d := &report.Differences[i]
		if byName[d.Type] == nil || !d.Compatible {
			byName[d.Type] = d
		}
	}
	counts := map[verdict]int{}
	var names []string
	for _, m := range leafType.FindAllStringSubmatch(r.Stdout, -1) {
		names = append(names, m[1])
	}
	for _, m := range leafFunction.FindAllStringSubmatch(r.Stdout, -1) {
		names = append(names, "func "+m[1])
	}
	for _, name := range names {
		d := byName[name]
		for range len(byName) { // a difference that only follows from another one has its verdict
			if d == nil || d.Class != "indirect" || byName[d.Because] == nil {
				break
			}
			d = byName[d.Because]
		}
		switch {
		case d == nil:
			t.Errorf("missing: %s", name)
		case d.Compatible:
			counts[harmless]++
			t.Logf("compatible: %s, because of %s: %s", name, d.Type, d.reasons(harmless))
		default:
			counts[incompatible]++
		}
	}
	for _, v := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%d of what abidiff lists is %s", counts[v], v)
	}
}

// exported is the definition of a function in assembly.
const exported = ".globl %[1]s\n.type %[1]s, @function\n%[1]s: .skip 8\n.size %[1]s, 8\n"

// functionsOf returns the functions in a file with BTF.
func functionsOf(t *testing.T, file string) map[string]bool {
	t.Helper()
	spec := must.Get(content.Open(file, nil))(t)
	types := must.Get(content.Types(spec))(t)
	names := map[string]bool{}
	for _, typ := range types {
		if f, ok := typ.(*btf.Func); ok {
			names[f.Name] = true
		}
	}
	return names
}
