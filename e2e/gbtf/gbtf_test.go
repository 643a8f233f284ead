package gbtf

import (
	"debug/elf"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

var (
	dwarfTree = flag.String("dwarf", "", "the kernel's tree that was built with -g")
	btfTree   = flag.String("btf", "", "the kernel's tree that was built with -gbtf")
	listed    = flag.Int("listed", 20, "how many differences of a reason are listed")
)

func TestMain(m *testing.M) {
	flag.Parse()
	harness.Main(m)
}

// road is what one tree gives.
type road struct {
	name, tree string
	objects    []string // archives
	btf        string   // of vmlinux
	skipped    Skipped
}

// build makes the BTF of a tree's vmlinux in dir, of its objects.
func build(t *testing.T, name, tree, dir string) *road {
	t.Helper()
	r := &road{name: name, tree: tree}
	for _, archive := range []string{"vmlinux.a", "lib/lib.a", "arch/x86/lib/lib.a",
		"arch/arm64/lib/lib.a"} {
		if path := filepath.Join(tree, archive); exists(path) {
			r.objects = append(r.objects, path)
		}
	}
	if len(r.objects) == 0 {
		t.Fatalf("%s: no vmlinux.a; is it a tree that Kbuild built?", tree)
	}
	path := func(suffix string) string { return filepath.Join(dir, name+suffix) }
	btfgen, btfdedup := harness.Tool(t, "btfgen"), harness.Tool(t, "btfdedup")
	argv := []string{btfgen, "object", "-q", "--lang-exclude=rust", "--input=" + name, "-o",
		path(".btfo")}
	harness.MustRun(t, tree, append(argv, r.objects...)...)
	harness.MustRun(t, tree, btfgen, "facts", "-q", "-o", path(".facts"), "vmlinux")
	r.btf = path(".final")
	harness.MustRun(t, tree, btfdedup, "link", "-q", "--facts", path(".facts"), "--skipped",
		path(".skipped"), "-o", r.btf, path(".btfo"))
	r.skipped = ReadSkipped(string(harness.ReadFile(t, path(".skipped"))))
	return r
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestKernel compares the trees that the flags name.
func TestKernel(t *testing.T) {
	if *dwarfTree == "" || *btfTree == "" {
		t.Skip("SKIPPED: no trees of kernels; see doc.go")
	}
	dir := t.TempDir()
	d, b := build(t, "dwarf", *dwarfTree, dir), build(t, "btf", *btfTree, dir)
	for _, r := range []*road{d, b} {
		harness.MustRun(t, dir, harness.Tool(t, "btfdedup"), "verify", r.btf)
		r.logCost(t)
	}
	result, err := harness.Command{Argv: []string{harness.Tool(t, "btfdedup"), "diff",
		"--format=json", d.btf, b.btf}}.Run()
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Differences []Difference
		Summary     map[string]int
	}
	if err := json.Unmarshal([]byte(result.Stdout), &all); err != nil {
		t.Fatal(err, result.Stderr)
	}
	t.Logf("types: %v", all.Summary)
	blocks := Blocks{}
	if len(all.Differences) > 0 {
		if blocks, err = ReadBlocks(filepath.Join(*dwarfTree, "vmlinux")); err != nil {
			t.Fatal(err)
		}
	}
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

// logCost logs how large a tree's objects are, and how long its build took.
func (r *road) logCost(t *testing.T) {
	t.Helper()
	var files, debug uint64
	objects := 0
	err := filepath.WalkDir(r.tree, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || filepath.Ext(path) != ".o" ||
			e.Name() == "vmlinux.o" || strings.HasPrefix(e.Name(), ".tmp_") {
			return err
		}
		f, err := elf.Open(path)
		if err != nil {
			return nil // a host's, or bitcode
		}
		defer f.Close()
		if info, err := e.Info(); err == nil {
			files += uint64(info.Size())
		}
		objects++
		for _, s := range f.Sections {
			if s.Name == ".BTF" || strings.Contains(s.Name, ".debug_") {
				debug += s.FileSize
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	seconds := "not known"
	if data, err := os.ReadFile(filepath.Join(r.tree, "build-seconds")); err == nil {
		seconds = strings.TrimSpace(string(data))
	}
	info, err := os.Stat(r.btf)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d objects, %d MB, of which %d MB are debugging information and its relocations; "+
		"build seconds: %s; BTF of vmlinux: %d bytes; %d functions and variables skipped", r.name,
		objects, files>>20, debug>>20, seconds, info.Size(), len(r.skipped))
}

// TestExplain is of one difference of each reason, and of one without.
func TestExplain(t *testing.T) {
	blocks := Blocks{"struct in_block": true, "enum (anon) {FIRST": true}
	dwarf := Skipped{"located": "unexpected register", "inlined": "inconsistent prototype"}
	btf := Skipped{"clone": "unknown parameters of a clone", "lost": "no variable of file scope"}
	for _, c := range []struct {
		Difference
		want string
	}{
		{Difference{Class: "only in A", Kind: "struct", Type: "struct in_block"}, reasonBlock},
		{Difference{Class: "only in A", Kind: "enum", Type: "enum (anon) {FIRST, SECOND}"},
			reasonBlock},
		{Difference{Class: "only in A", Kind: "enum", Type: "enum (anon) {FIRST}"}, reasonBlock},
		{Difference{Class: "only in A", Kind: "func", Type: "func clone"}, reasonClone},
		{Difference{Class: "only in B", Kind: "func", Type: "func located"}, reasonLocation},
		{Difference{Class: "only in B", Kind: "func", Type: "func inlined"}, reasonCodeless},
		{Difference{Class: "only in A", Kind: "var", Type: "var lost"}, reasonVariable},
		{Difference{Class: "differs", Kind: "typedef", Type: "typedef v4",
			What: "type int[4] vs void"}, reasonVector},
		{Difference{Class: "differs", Kind: "struct", Type: "struct s", Where: "member m",
			What: "bit offset 2 vs 0"}, reasonUnnamed},
		{Difference{Class: "differs", Kind: "struct", Type: "struct s", Where: "member m",
			What: "bit offset 8 vs 16"}, ""},
		{Difference{Class: "only in A", Kind: "struct", Type: "struct file_scope"}, ""},
		{Difference{Class: "only in A", Kind: "func", Type: "func missing"}, ""},
		{Difference{Class: "differs", Kind: "struct", Type: "struct s", What: "size 4 vs 8"}, ""},
	} {
		if got := Explain(c.Difference, blocks, dwarf, btf); got != c.want {
			t.Errorf("%v: %q, want %q", c.Difference, got, c.want)
		}
	}
}

// TestReadBlocks is of a program of our own.
func TestReadBlocks(t *testing.T) {
	harness.Need(t, "gcc")
	dir := t.TempDir()
	harness.WriteFile(t, filepath.Join(dir, "a.c"), `
		struct outside { int a; }; typedef struct outside outer_t; enum { NOT_IN };
		int f(outer_t *o) {
			struct in_block { int b; } x = { 1 }; typedef struct in_block inner_t;
			inner_t y = { 2 };
			{ enum { FIRST, SECOND } e = FIRST; x.b += e; }
			return x.b + y.b + o->a;
		}
		int g(void) { return NOT_IN; }
		struct after { int c; } after;`)
	harness.MustRun(t, dir, "gcc", "-g", "-O0", "-c", "-o", "a.o", "a.c")
	got, err := ReadBlocks(filepath.Join(dir, "a.o"))
	if err != nil {
		t.Fatal(err)
	}
	for title, want := range map[string]bool{"struct in_block": true, "typedef inner_t": true,
		"enum (anon) {FIRST, SECOND}": true, "struct outside": false, "struct after": false,
		"typedef outer_t": false} {
		if got.has(title) != want {
			t.Errorf("%s: %v, want %v; %v", title, !want, want, got)
		}
	}
}
