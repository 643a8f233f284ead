package nested

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestVariants makes the BTF of one kernel in several ways in one build, as docs/rules.md has them:
// by attributes, and by a transition that sets a flag. The tools are built once.
func TestVariants(t *testing.T) {
	w := newWorkspace(t)
	blocks := starlark(t, filepath.Join(w.repo, "docs/rules.md"))
	w.write("BUILD.bazel", `
alias(name = "kernel", actual = "//kernel:vmlinux", visibility = ["//visibility:public"])
`)
	const vmlinux = `
alias(name = "vmlinux", actual = "//kernel:vmlinux")
`
	w.write("attributes/BUILD.bazel", `
load("@rules_btf//rules:defs.bzl", "cc_btf", "vmlinux_btf")
`+vmlinux+block(t, blocks, `"_with_variables": [`))
	w.write("flag/variant.bzl", block(t, blocks, "# variant.bzl\n"))
	w.write("flag/BUILD.bazel", block(t, blocks, "with_variables(\n")+vmlinux)
	const byFlagTarget = "//flag:vmlinux_btf_with_variables"
	const targets = "//attributes:all " + byFlagTarget
	output, err := w.bazel("aquery", "--output=jsonproto",
		`mnemonic("GoLink", deps(set(`+targets+`)))`)
	if err != nil {
		t.Fatalf("aquery: %v\n%s", err, output)
	}
	var graph struct {
		Actions []struct{ ActionKey string }
	}
	if err := json.Unmarshal([]byte(output), &graph); err != nil {
		t.Fatal(err)
	}
	if n := len(graph.Actions); n != 3 { // btfgen, btfdedup, btfrepro
		t.Errorf("%d actions link tools, want 3", n)
	}

	w.built(strings.Fields(targets)...)
	read := func(path string) string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	plain := read(filepath.Join(w.dir, "bazel-bin/attributes/vmlinux_btf.btf"))
	variables := read(filepath.Join(w.dir, "bazel-bin/attributes/vmlinux_btf_with_variables.btf"))
	output, err = w.bazel("cquery", "--output=files", byFlagTarget)
	if err != nil {
		t.Fatalf("cquery: %v\n%s", err, output)
	}
	byFlag := read(filepath.Join(w.dir, strings.TrimSpace(output)))
	if plain == variables || byFlag != variables {
		t.Errorf("BTF of %d bytes; with variables %d by attributes, %d by the flag", len(plain),
			len(variables), len(byFlag))
	}
}

// starlark returns a page's blocks of Starlark.
func starlark(t *testing.T, page string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	fenced := regexp.MustCompile("(?ms)^```starlark\n(.*?)^```")
	for _, m := range fenced.FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// block is the one block that has a piece of text.
func block(t *testing.T, blocks []string, piece string) string {
	t.Helper()
	var found []string
	for _, b := range blocks {
		if strings.Contains(b, piece) {
			found = append(found, b)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d blocks have %q, want 1", len(found), piece)
	}
	return found[0]
}
