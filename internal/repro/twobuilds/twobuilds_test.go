package twobuilds

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// tree makes files in a directory, and returns the directory: "dir/" is a directory, "a -> b" is a
// link, and "a 755" is a file with a mode.
func tree(t *testing.T, entries ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, e := range entries {
		name, rest, _ := strings.Cut(e, " ")
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		target, isLink := strings.CutPrefix(rest, "-> ")
		switch {
		case err != nil:
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case isLink:
			err = os.Symlink(target, path)
		default:
			if err = os.WriteFile(path, []byte(name), 0o644); err == nil && rest == "755" {
				err = os.Chmod(path, 0o755)
			}
		}
		must.OK(t, err)
	}
	return dir
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	must.OK(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		info, err := d.Info()
		if target, e := os.Readlink(path); e == nil {
			name += " -> " + target
		} else {
			name += " " + info.Mode().String()
		}
		found = append(found, name)
		return err
	}))
	return found
}

// bazel is a script that the tests run in place of Bazel. Instead of a log, it writes what it sees
// of its surroundings.
const bazel = `#!/bin/sh
for arg; do
  case $arg in
    --execution_log_compact_file=*) log=${arg#*=} ;;
    --output_base=*) base=${arg#*=} ;;
    shutdown) exit 0 ;;
    broken) exit 2 ;;
    slow) mkdir -p "$base"; touch "$base/began"; exec sleep 1000 ;;
  esac
done
mkdir -p "$base/execroot/_main/bazel-out"
echo "$PWD $base $HOME $USER $LC_ALL $TZ $(umask)" >"$log"
echo "$*" >>"$log"
`

// newBuilds makes builds that run the script bazel in a workspace.
func newBuilds(t *testing.T, args ...string) (*Builds, string) {
	t.Helper()
	workspace := tree(t, "MODULE.bazel", "bazel-out -> /x", "bazel-notes.txt",
		"sub/link -> ../MODULE.bazel", "sub/run.sh 755", "empty/")
	command := filepath.Join(workspace, "bazelw")
	must.OK(t, os.WriteFile(command, []byte(bazel), 0o755))
	t.Setenv("HOME", workspace)
	scratch := t.TempDir()
	b := must.Get(New(Options{Bazel: command, Workspace: workspace, Args: args,
		Scratch: scratch, Out: new(bytes.Buffer)}))(t)
	must.OK(t, b.Copy())
	return b, scratch
}

// TestCopy checks the modes of the copied files.
func TestCopy(t *testing.T) {
	b, _ := newBuilds(t)
	defer b.Close()
	want := []string{"MODULE.bazel -rw-------", "bazel-notes.txt -rw-------", "bazelw -rwx------",
		"empty drwx------", "sub drwx------", "sub/link -> ../MODULE.bazel", "sub/run.sh -rwx------"}
	if got := list(t, b.copied()); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// TestSurroundings checks that the builds see different surroundings, and that no files are left.
func TestSurroundings(t *testing.T) {
	b, scratch := newBuilds(t, "--flag", "//...")
	var logs [2][]string
	for i := range logs {
		must.OK(t, b.Build(i))
		data := must.Get(os.ReadFile(b.Logs[i]))(t)
		logs[i] = strings.Fields(string(data))
		if !strings.HasSuffix(strings.TrimSpace(string(data)), " --flag //...") {
			t.Errorf("%s", data)
		}
		if filepath.Base(b.ExecRoot(i)) != "_main" {
			t.Errorf("execution root %s", b.ExecRoot(i))
		}
	}
	for i, what := range strings.Fields("directory output-base HOME USER LC_ALL TZ umask") {
		if logs[0][i] == logs[1][i] {
			t.Errorf("%s: %s in both", what, logs[0][i])
		}
	}
	if n := len(b.Varied()); n != 8 {
		t.Errorf("%d lines of differences: %q", n, b.Varied())
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if left := list(t, scratch); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestInterrupt interrupts a build. No file may be left, even below a read-only directory. When the
// build has failed, the program calls Close, too: of the two calls, only the first may return.
func TestInterrupt(t *testing.T) {
	b, scratch := newBuilds(t, "slow")
	returned, second := make(chan error, 1), make(chan error, 1)
	go func() {
		returned <- b.Build(0)
		second <- b.Close()
	}()
	began := filepath.Join(b.of[0][outputBase], "began")
	for !exists(began) {
		time.Sleep(time.Millisecond)
	}
	must.OK(t, os.Chmod(filepath.Dir(began), 0o500))
	first := make(chan error, 1)
	go func() { first <- b.Close() }()
	select {
	case err := <-first:
		if err != nil {
			t.Error(err)
		}
	case err := <-second:
		t.Fatalf("the second call of Close returned %v", err)
	}
	if err := <-returned; err == nil {
		t.Error("the interrupted build didn't fail")
	}
	if left := list(t, scratch); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestFailures(t *testing.T) {
	b, _ := newBuilds(t, "broken")
	defer b.Close()
	if err := b.Build(0); err == nil || !strings.Contains(err.Error(), "bazel build: exit status 2") {
		t.Error(err)
	}
	scratched := tree(t, "MODULE.bazel", "sub/")
	for want, opt := range map[string]Options{
		"is not the root of a Bazel workspace": {Workspace: t.TempDir()},
		`["nobazel"] was found`:                {Workspace: tree(t, "MODULE.bazel"), Bazel: "nobazel"},
		`["bazelisk" "bazel" "`:                {Workspace: tree(t, "WORKSPACE")},
		"specify a different one with --scratch": {Workspace: scratched, Bazel: "/bin/sh",
			Scratch: filepath.Join(scratched, "sub")},
		"the directory to copy": {Workspace: tree(t, "REPO.bazel"), Bazel: "/bin/sh",
			CopyRoot: t.TempDir()},
	} {
		t.Setenv("PATH", t.TempDir()) // no Bazel
		if _, err := New(opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
