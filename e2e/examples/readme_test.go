package examples

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// section returns the text below a heading of README.md; the heading "" is the text above the
// first.
func section(t *testing.T, heading string) string {
	t.Helper()
	page := string(harness.ReadFile(t, filepath.Join(harness.Repo(), "README.md")))
	for i, part := range strings.Split(page, "\n## ") {
		first, text, _ := strings.Cut(part, "\n")
		if i == 0 && heading == "" {
			return text
		}
		if i > 0 && first == heading {
			return text
		}
	}
	t.Fatalf("README.md has no heading %q", heading)
	return ""
}

// indented returns the lines of README.md that a user types into a shell.
func indented(text string) string {
	text = regexp.MustCompile("(?ms)^```.*?^```").ReplaceAllString(text, "")
	var lines []string
	for line := range strings.Lines(text) {
		if line, ok := strings.CutPrefix(line, "    "); ok {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "\n")
}

// dep and override are the lines of MODULE.bazel that each recipe needs.
const (
	dep      = "bazel_dep(name = \"rules_btf\", version = \"0.1.0\")\n"
	override = "local_path_override(module_name = \"rules_btf\", path = \"../..\")\n"
)

// TestReadmeLibrary runs the lines for a library.
func TestReadmeLibrary(t *testing.T) {
	text := section(t, "A Bazel workspace")
	from := t.TempDir()
	harness.WriteFile(t, filepath.Join(from, "MODULE.bazel"),
		dep+override+"bazel_dep(name = \"rules_cc\", version = \"0.1.5\")\n")
	harness.WriteFile(t, filepath.Join(from, "BUILD.bazel"), blocks(text)[1].text+`
load("@rules_cc//cc:cc_library.bzl", "cc_library")
cc_library(name = "drawing", srcs = ["drawing.c"])
`)
	harness.WriteFile(t, filepath.Join(from, "drawing.c"),
		"struct shape { int corners; } s;\nint corners(struct shape *s) { return s->corners; }\n")
	w := newWorkspace(t, from)
	command, path, ok := strings.Cut(indented(text), "# ")
	if !ok {
		t.Fatal("README.md doesn't say what the command writes")
	}
	w.Shell(command)
	contains(w, path, "shape", "corners")
}

// TestReadmeWorkspace builds the block for object files that something else built.
func TestReadmeWorkspace(t *testing.T) {
	from := t.TempDir()
	harness.WriteFile(t, filepath.Join(from, "MODULE.bazel"),
		dep+override)
	page := blocks(section(t, "A Bazel workspace"))[0].text +
		`filegroup(name = "vmlinux", srcs = ["vmlinux.elf"])`
	harness.WriteFile(t, filepath.Join(from, "BUILD.bazel"), page)
	makeSources(t, from, page)
	w := newWorkspace(t, from)
	w.Shell("bazel build //...")
	contains(w, "bazel-bin/vmlinux_btf.btf", "task", "get")
	contains(w, "bazel-bin/disk_btf.btf", "disk")
}

// TestReadmeKbuild runs the lines for a kernel's tree; examples/kbuild has the tree.
func TestReadmeKbuild(t *testing.T) {
	text := section(t, "")
	w := newWorkspace(t, example("kbuild"))
	w.Write("BUILD.bazel", "")
	w.Write("MODULE.bazel", strings.NewReplacer("/home/me/linux", filepath.Join(w.Dir, "linux"),
		"/path/to/rules_btf", harness.Repo()).Replace(blocks(text)[0].text))
	lines := strings.Split(indented(text), "\n")
	w.Shell("chmod +x linux/build && linux/build && " + lines[len(lines)-1])
}

// TestReadmeTools runs the lines for the tools alone, and the one that installs our pahole, in a
// copy of what git has. The matrix of kernels runs "make PAHOLE=…".
func TestReadmeTools(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rules_btf")
	for _, part := range []string{"go.mod", "go.sum", "internal", "tools"} {
		harness.MustRun(t, ".", "mkdir", "-p", dir)
		harness.MustRun(t, ".", "cp", "-r", filepath.Join(harness.Repo(), part), dir)
	}
	harness.WriteFile(t, filepath.Join(dir, "core.c"),
		"struct task { int pid; } init;\nint get(struct task *t) { return t->pid; }\n")
	harness.WriteFile(t, filepath.Join(dir, "xfs.c"),
		"struct inode { int n; } root;\nint number(struct inode *i) { return i->n; }\n")
	lines := strings.Split(indented(section(t, "")), "\n")
	_, pahole, ok := strings.Cut(lines[1], "make PAHOLE=")
	if !ok {
		t.Fatalf("README.md calls %s", lines[1])
	}
	script := strings.Join([]string{"set -ex",
		"gcc -g -c core.c && ld -e 0 -o vmlinux core.o && gcc -g -c -o xfs.ko xfs.c",
		"mkdir DIRECTORY && cp xfs.ko DIRECTORY",
		"export GOMODCACHE=$(go env GOMODCACHE) GOPATH=$PWD/gopath", lines[0],
		indented(section(t, "The tools alone")),
		"cmp xfs.btf out/xfs.btf",
		pahole + " -J xfs.ko --btf_base vmlinux.btf",
	}, "\n")
	harness.Command{Argv: []string{"bash", "-c", script}, Dir: dir}.Must(t)
}
