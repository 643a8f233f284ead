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

// override is the line that MODULE.bazel needs in addition to those in README.md.
const override = `
local_path_override(module_name = "rules_btf", path = "../..")
`

// TestReadmeLibrary runs the first lines of README.md.
func TestReadmeLibrary(t *testing.T) {
	text := section(t, "")
	module, build, ok := strings.Cut(blocks(text)[0].text, "\n\n")
	if !ok {
		t.Fatal("the first block of README.md isn't for two files")
	}
	from := t.TempDir()
	harness.WriteFile(t, filepath.Join(from, "MODULE.bazel"),
		module+override+"bazel_dep(name = \"rules_cc\", version = \"0.1.5\")\n")
	harness.WriteFile(t, filepath.Join(from, "BUILD.bazel"), build+`
load("@rules_cc//cc:cc_library.bzl", "cc_library")
cc_library(name = "drawing", srcs = ["drawing.c"])
`)
	harness.WriteFile(t, filepath.Join(from, "drawing.c"),
		"struct shape { int corners; } s;\nint corners(struct shape *s) { return s->corners; }\n")
	w := newWorkspace(t, from)
	command, path, ok := strings.Cut(strings.Split(indented(text), "\n")[0], "# ")
	if !ok {
		t.Fatal("README.md doesn't say what the first command writes")
	}
	w.Shell(command)
	contains(w, path, "shape", "corners")
}

// TestReadmeWorkspace builds the block for object files that something else built.
func TestReadmeWorkspace(t *testing.T) {
	from := t.TempDir()
	harness.WriteFile(t, filepath.Join(from, "MODULE.bazel"),
		"bazel_dep(name = \"rules_btf\", version = \"0.1.0\")\n"+override)
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
	text := section(t, "A kernel that Kbuild builds")
	w := newWorkspace(t, example("kbuild"))
	w.Write("BUILD.bazel", "")
	w.Write("MODULE.bazel", strings.ReplaceAll(blocks(text)[0].text, "/home/me/linux",
		filepath.Join(w.Dir, "linux"))+strings.Replace(override, "../..", harness.Repo(), 1))
	// make is replaced by the script that builds the tree.
	make, build, ok := strings.Cut(last(indented(text)), " && ")
	if !ok || !strings.HasPrefix(make, "make ") {
		t.Fatalf("README.md calls %s", make)
	}
	w.Shell("chmod +x linux/build && linux/build && " + build)
}

func last(lines string) string { return lines[strings.LastIndex(lines, "\n")+1:] }

// TestReadmeTools runs the lines for the tools alone, and the one that builds our pahole, in a copy
// of what git has. The matrix of kernels runs "make PAHOLE=…".
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
	pahole := strings.Split(indented(section(t, "A kernel that Kbuild builds")), "\n")[0]
	script := strings.Join([]string{"set -ex",
		"gcc -g -c core.c && ld -e 0 -o vmlinux core.o && gcc -g -c -o xfs.ko xfs.c",
		"mkdir DIRECTORY && cp xfs.ko DIRECTORY",
		strings.ReplaceAll(pahole, "/path/to/rules_btf", dir),
		indented(section(t, "The tools alone")),
		"cmp xfs.btf btf/xfs.btf",
		"bin/pahole -J xfs.ko --btf_base vmlinux.btf",
	}, "\n")
	harness.Command{Argv: []string{"bash", "-c", script}, Dir: dir}.Must(t)
}
