package buildfiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/kernel/kbuild"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// write updates the files in dir, and returns the relative paths of those that changed.
func write(t *testing.T, dir string, tree *kbuild.Tree) []string {
	t.Helper()
	due := must.Get(Packages(tree, Options{Rules: DefaultRules}))(t)
	changes := must.Get(Changes(dir, due, SkippedText(tree)))(t)
	must.OK(t, Apply(changes))
	var paths []string
	for _, c := range changes {
		paths = append(paths, strings.TrimPrefix(c.Path, dir+"/"))
	}
	return paths
}

func TestChanges(t *testing.T) {
	dir := t.TempDir()
	// A file BUILD is used, but a directory BUILD is ignored.
	must.OK(t, os.MkdirAll(filepath.Join(dir, "init/BUILD"), 0o777))
	must.OK(t, os.MkdirAll(filepath.Join(dir, "fs"), 0o777))
	must.OK(t, os.WriteFile(filepath.Join(dir, "fs/BUILD"), nil, 0o666))
	if got := write(t, dir, example()); strings.Join(got, " ") != "BUILD.bazel fs/BUILD "+
		"fs/fat/BUILD.bazel fs/fat/misc/BUILD.bazel init/BUILD.bazel kbuild.skipped" {
		t.Errorf("written: %q", got)
	}
	if got := write(t, dir, example()); len(got) > 0 {
		t.Errorf("written again: %q", got)
	}
	less := example()
	less.Modules = less.Modules[1:]
	if got := write(t, dir, less); strings.Join(got, " ") != "BUILD.bazel fs/fat/BUILD.bazel "+
		"fs/fat/misc/BUILD.bazel" {
		t.Errorf("written without one module: %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "fs/fat/misc/BUILD.bazel")); !os.IsNotExist(err) {
		t.Errorf("a package without objects has a file: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*/*.tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}
