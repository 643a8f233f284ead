package rules

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// TestVariants makes several variants of the BTF of one kernel in one build, in the two ways that
// docs/rules.md shows: with attributes, and with a transition that sets a flag.
func TestVariants(t *testing.T) {
	w := newWorkspace(t)
	blocks := starlark(t, filepath.Join(harness.Repo(), "docs/rules.md"))
	w.Write("BUILD.bazel", `
alias(name = "kernel", actual = "//kernel:vmlinux", visibility = ["//visibility:public"])
`)
	const vmlinux = `
alias(name = "vmlinux", actual = "//kernel:vmlinux")
`
	w.Write("attributes/BUILD.bazel", `
load("@rules_btf//rules:defs.bzl", "cc_btf", "vmlinux_btf")
`+vmlinux+block(t, blocks, `"_with_variables": [`))
	w.Write("flag/variant.bzl", block(t, blocks, "# variant.bzl\n"))
	w.Write("flag/BUILD.bazel", block(t, blocks, "with_variables(\n")+vmlinux)
	const byFlagTarget = "//flag:vmlinux_btf_with_variables"
	const targets = "//attributes:all " + byFlagTarget
	w.Shell("bazel build " + targets)
	plain := w.Read("bazel-bin/attributes/vmlinux_btf.btf")
	variables := w.Read("bazel-bin/attributes/vmlinux_btf_with_variables.btf")
	byFlag := w.Read(strings.TrimSpace(w.Shell("bazel cquery --output=files " + byFlagTarget +
		" 2>log")))
	if plain == variables || byFlag != variables {
		t.Errorf("BTF of %d bytes; with variables %d by attributes, %d by a flag", len(plain),
			len(variables), len(byFlag))
	}
}

// starlark returns the Starlark blocks on a page.
func starlark(t *testing.T, page string) (blocks []string) {
	t.Helper()
	fenced := regexp.MustCompile("(?ms)^```starlark\n(.*?)^```")
	for _, m := range fenced.FindAllStringSubmatch(string(harness.ReadFile(t, page)), -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// block returns the only block that contains a piece of text.
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
