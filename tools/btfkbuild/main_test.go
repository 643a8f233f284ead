package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// tree makes a built tree with one object below dir.
func tree(t *testing.T, dir string) {
	t.Helper()
	programtest.Shell(t, dir, `mkdir -p init && echo 'int x;' >init/main.c &&
		gcc -g -c -o init/main.o init/main.c && ar cDPrST vmlinux.a init/main.o &&
		ld -r -o vmlinux init/main.o`)
}

// generate runs the command.
func generate(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := cli.Execute(command, args, nil, &out, &errs); code != 0 {
		err = errors.New(errs.String())
	}
	return out.String(), errs.String(), err
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir)
	out, _, err := generate(t, "--check", dir)
	if err == nil || strings.Count(out, "\n") != 3 {
		t.Errorf("--check before: %q, %v", out, err)
	}
	if _, errs, err := generate(t, dir); err != nil || strings.Contains(errs, "warning") {
		t.Errorf("%v, %s", err, errs)
	}
	if out, _, err := generate(t, "--check", dir); err != nil || out != "" {
		t.Errorf("--check after: %q, %v", out, err)
	}
}

// TestSymlinks runs the command as the repository rule does.
func TestSymlinks(t *testing.T) {
	dir, repository := t.TempDir(), t.TempDir()
	tree(t, dir)
	inputs := filepath.Join(repository, "inputs")
	_, _, err := generate(t, "--out", repository, "--symlinks", "--inputs", inputs, dir)
	must.OK(t, err)
	for _, name := range []string{"vmlinux", "init/main.o"} {
		to, err := os.Readlink(filepath.Join(repository, name))
		if err != nil || to != filepath.Join(dir, name) {
			t.Errorf("%s leads to %q, %v", name, to, err)
		}
	}
	text, err := os.ReadFile(inputs)
	if err != nil || !strings.Contains(string(text), "vmlinux.map\n") ||
		!strings.Contains(string(text), "vmlinux.a\n") {
		t.Errorf("inputs: %q, %v", text, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*/BUILD.bazel")); len(left) > 0 {
		t.Errorf("files in the tree: %q", left)
	}
}

// TestLTO uses objects without machine code, so that vmlinux itself is converted.
func TestLTO(t *testing.T) {
	for _, c := range []struct{ compiler, flags string }{
		{"gcc", "-flto"},
		{"clang", "-flto"},
		{"clang", "-flto=thin"},
	} {
		t.Run(c.compiler+" "+c.flags, func(t *testing.T) {
			dir := t.TempDir()
			tree(t, dir)
			programtest.Run(t, dir, c.compiler, "-g", c.flags, "-c", "-o", "init/main.o", "init/main.c")
			_, stderr, err := generate(t, dir)
			if err != nil || !strings.Contains(stderr, "note: its objects have no DWARF") {
				t.Errorf("%v, %s", err, stderr)
			}
			text, err := os.ReadFile(filepath.Join(dir, "BUILD.bazel"))
			if err != nil || !strings.Contains(string(text), "vmlinux_btf(") ||
				strings.Contains(string(text), "srcs = [\"//init") {
				t.Errorf("%v\n%s", err, text)
			}
			if _, _, err := generate(t, "--vmlinux=whole", dir); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPackageOf puts the tree into a larger workspace, so labels begin with the tree's path.
func TestPackageOf(t *testing.T) {
	workspace := t.TempDir()
	must.OK(t, os.WriteFile(filepath.Join(workspace, "MODULE.bazel"), nil, 0o666))
	dir := filepath.Join(workspace, "third_party/linux")
	must.OK(t, os.MkdirAll(dir, 0o777))
	tree(t, dir)
	must.Get2(generate(t, dir))(t)
	text, err := os.ReadFile(filepath.Join(dir, "BUILD.bazel"))
	if err != nil || !strings.Contains(string(text), `"//third_party/linux/init:vmlinux_objects"`) {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestUsage runs wrong command lines. Each must print one line, and exit with code 2, or with 1 for
// a directory that is not a tree.
func TestUsage(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"", 2, "TREE is missing"},
		{"a b", 2, `too many arguments: the command takes TREE, but also got "b"`},
		{"--modules=some a", 2, "--modules=some: must be \"objects\", \"whole\" or \"none\""},
		{"--vmlinux=none a", 2, "--vmlinux=none: must be \"objects\" or \"whole\""},
		{"--symlinks a", 2, "--symlinks needs --out"},
		{"--no-such a", 2, "unknown flag: --no-such ("},
		{"--out", 2, "flag needs an argument: --out ("},
		{"--btf-features=vra a", 2, `--btf-features: features "vra": unknown feature "vra"`},
		{"--lang-exclude=rust,klingon a", 2, `--lang-exclude: unknown language "klingon"; the known`},
		{none, 1, "no such file"},
	} {
		var out, errs bytes.Buffer
		code := cli.Execute(command, strings.Fields(c.args), nil, &out, &errs)
		line := errs.String()
		if code != c.code || out.Len() > 0 || strings.Count(line, "\n") != 1 ||
			!strings.HasPrefix(line, "btfkbuild: ") || !strings.Contains(line, c.want) ||
			code == 2 && !strings.HasSuffix(line, " (see btfkbuild --help)\n") {
			t.Errorf("%q: exit code %d, want %d and a line with %s\n%s%s", c.args, code, c.code, c.want,
				&out, line)
		}
	}
}
