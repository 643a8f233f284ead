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
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
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
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestCopyTree(t *testing.T) {
	from := tree(t, "MODULE.bazel", "bazel-out -> /x", "bazel-notes.txt",
		"sub/link -> ../MODULE.bazel", "sub/run.sh 755", "empty/", "scratch/another/x")
	to := filepath.Join(t.TempDir(), "new", "copy")
	if err := copyTree(from, to, filepath.Join(from, "scratch"), 0o077); err != nil {
		t.Fatal(err)
	}
	want := []string{"MODULE.bazel -rw-------", "bazel-notes.txt -rw-------", "empty drwx------",
		"sub drwx------", "sub/link -> ../MODULE.bazel", "sub/run.sh -rwx------"}
	if got := list(t, to); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	data, err := os.ReadFile(filepath.Join(to, "sub/run.sh"))
	if err != nil || string(data) != "sub/run.sh" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestRemoveAll removes directories that are read-only.
func TestRemoveAll(t *testing.T) {
	dir := filepath.Join(tree(t, "x/a/b/c"), "x")
	for _, name := range []string{"a/b", "a"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o500); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeAll(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("it is still there")
	}
}

// bazel is a script that the tests run in place of Bazel. Instead of a log, it writes what it sees
// of its surroundings.
const bazel = `#!/bin/sh
for arg; do
  case $arg in
    --execution_log_compact_file=*) log=${arg#*=} ;;
    --output_base=*) base=${arg#*=} ;;
    shutdown) exit 0 ;;
    fail) code=1 ;;
    broken) exit 2 ;;
    slow) mkdir -p "$base"; touch "$base/began"; exec sleep 1000 ;;
  esac
done
mkdir -p "$base/execroot/_main/bazel-out"
echo "$PWD $base $HOME $USER $LC_ALL $TZ $(umask)" >"$log"
echo "$*" >>"$log"
exit "${code:-0}"
`

// newBuilds makes builds that run the script bazel in a workspace.
func newBuilds(t *testing.T, args ...string) (*Builds, string) {
	t.Helper()
	workspace := tree(t, "MODULE.bazel", "package/file")
	command := filepath.Join(workspace, "bazelw")
	if err := os.WriteFile(command, []byte(bazel), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", workspace)
	scratch := t.TempDir()
	b, err := New(Options{Bazel: command, Workspace: filepath.Join(workspace, "package"), Args: args,
		Scratch: scratch, Out: new(bytes.Buffer)})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Copy(); err != nil {
		t.Fatal(err)
	}
	return b, scratch
}

// TestSurroundings checks that the builds see different surroundings, and that no files are left.
func TestSurroundings(t *testing.T) {
	b, scratch := newBuilds(t, "--flag", "//...")
	var logs [2][]string
	for i := range logs {
		if failed, err := b.Build(i); failed || err != nil {
			t.Fatal(failed, err)
		}
		data, err := os.ReadFile(b.Logs[i])
		if err != nil {
			t.Fatal(err)
		}
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

// TestInterrupt interrupts a build. No file may be left, and Build must not return.
func TestInterrupt(t *testing.T) {
	b, scratch := newBuilds(t, "slow")
	returned := make(chan struct{})
	go func() {
		b.Build(0)
		close(returned)
	}()
	began := filepath.Join(b.Of[0].OutputBase, "began")
	for {
		if _, err := os.Stat(began); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	b.Interrupt()
	if left := list(t, scratch); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	select {
	case <-returned:
		t.Error("Build returns")
	case <-time.After(10 * time.Millisecond):
	}
}

// TestToolFlags checks the flags and the package for ready-made tools.
func TestToolFlags(t *testing.T) {
	tools := tree(t, "bin/btfgen 755", "bin/btfdedup 755", "few/btfgen 755")
	workspace := tree(t, "MODULE.bazel")
	opt := Options{Bazel: "/bin/sh", Workspace: workspace, Scratch: t.TempDir(),
		Tools: filepath.Join(tools, "few")}
	_, err := New(opt)
	if err == nil || !strings.Contains(err.Error(), "few/btfdedup: no such file or directory; the "+
		"directory of --tools must have") {
		t.Error(err)
	}
	if left := list(t, opt.Scratch); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	opt.Tools = filepath.Join(tools, "bin")
	b, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	root := filepath.Join(b.scratch, "tools")
	want := []string{"--package_path=%workspace%:" + root,
		"--extra_toolchains=//btfrepro_ready_made_tools:toolchain"}
	if !slices.Equal(b.tools, want) {
		t.Errorf("flags %q, want %q", b.tools, want)
	}
	const dir = "btfrepro_ready_made_tools"
	files := []string{dir + " drwxr-xr-x", dir + "/BUILD.bazel -rw-r--r--",
		dir + "/btfdedup -rwxr-xr-x", dir + "/btfgen -rwxr-xr-x"}
	if got := list(t, root); !slices.Equal(got, files) {
		t.Errorf("files %q, want %q", got, files)
	}
	text, err := os.ReadFile(filepath.Join(root, dir, "BUILD.bazel"))
	if err != nil || strings.Count(string(text), "    btfgen = \"btfgen\",\n") != 1 ||
		strings.Contains(string(text), "btfcore") {
		t.Errorf("%v, %s", err, text)
	}
}

func TestFailures(t *testing.T) {
	b, _ := newBuilds(t, "fail")
	if failed, err := b.Build(0); !failed || err != nil {
		t.Errorf("a build that fails: %v, %v", failed, err)
	}
	b, _ = newBuilds(t, "broken")
	_, err := b.Build(0)
	if err == nil || !strings.Contains(err.Error(), "bazel build: exit status 2") {
		t.Error(err)
	}
	for want, opt := range map[string]Options{
		"is not in a Bazel workspace":   {Workspace: t.TempDir()},
		"no such file":                  {Workspace: "/nonexistent"},
		"the command nobazel was not":   {Workspace: tree(t, "MODULE.bazel"), Bazel: "nobazel"},
		"neither bazelisk nor bazel is": {Workspace: tree(t, "WORKSPACE")},
		"the directory to copy": {Workspace: tree(t, "REPO.bazel"), Bazel: "/bin/sh",
			CopyRoot: t.TempDir()},
	} {
		t.Setenv("PATH", t.TempDir()) // no Bazel
		if _, err := New(opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
