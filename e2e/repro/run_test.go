package repro

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// surroundings is the BUILD file of a workspace in which most actions write something about their
// environment to their output.
const surroundings = `
load(":rules.bzl", "command")

command(name = "same", mnemonic = "Same", command = "echo same > $1")
command(
    name = "mode",
    mnemonic = "Mode",
    srcs = ["mode.in"],
    command = "stat -L -c %a $2 > $1",
)
command(name = "directory", mnemonic = "Directory", command = "pwd -P > $1")
command(
    name = "locale",
    default_env = True,
    mnemonic = "Locale",
    command = "echo $LC_ALL > $1",
)
`

// newSurroundings writes a workspace with the BUILD file surroundings, to which it appends the text
// more.
func newSurroundings(t *testing.T, more string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"MODULE.bazel": "module(name = \"surroundings\")\n", "values.bzl": values[0],
		"rules.bzl": rulesFile, "BUILD.bazel": surroundings + more,
		"mode.in": "what others may read\n",
	} {
		harness.WriteFile(t, filepath.Join(dir, name), text)
	}
	return dir
}

// TestRun lets "btfrepro run" make the two builds.
func TestRun(t *testing.T) {
	findBazel(t)
	dir, scratch := newSurroundings(t, ""), t.TempDir()
	f, _ := compared(t, 1, "run", "--workspace="+dir, "--scratch="+scratch, "--",
		"--action_env=LC_ALL", "//...")
	locale := ""
	for _, c := range f.Causes {
		if c.Kind == "environment" {
			locale = c.Text
		}
	}
	if !strings.HasPrefix(locale, "LC_ALL: C vs ") {
		t.Errorf("the report about LC_ALL: %q", locale)
	}
	got := f.actions()
	for mnemonic, want := range map[string]string{"Same": "", "Mode": "non-deterministic",
		"Directory": "non-deterministic", "Locale": "key changed"} {
		if verdict, _, _ := strings.Cut(got[mnemonic], ":"); verdict != want {
			t.Errorf("%s: %s, want %s", mnemonic, got[mnemonic], want)
		}
	}
	checkEmpty(t, scratch)
	if left, _ := filepath.Glob(filepath.Join(dir, "bazel-*")); len(left) > 0 {
		t.Errorf("left in the workspace: %v", left)
	}
}

// TestInterrupt interrupts "btfrepro run" during a build. Neither files nor a Bazel server may be
// left.
func TestInterrupt(t *testing.T) {
	findBazel(t)
	scratch := t.TempDir()
	began := filepath.Join(t.TempDir(), "began")
	dir := newSurroundings(t, `
command(
    name = "slow",
    mnemonic = "Slow",
    command = "mkdir $1.d; chmod 500 $1.d; touch `+began+`; sleep 1000",
)
`)
	cmd := exec.Command(harness.Tool(t, "btfrepro"), "run", "--workspace="+dir, "--scratch="+scratch,
		"--", "--spawn_strategy=local", "//...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	must.OK(t, cmd.Start())
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if _, err := os.Stat(began); err == nil {
			break
		}
		if time.Now().After(end) {
			cmd.Process.Kill()
			t.Fatalf("the action did not begin\n%s", stderr.String())
		}
	}
	cmd.Process.Signal(syscall.SIGINT)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGINT) {
		t.Errorf("exit code %d\n%s", code, stderr.String())
	}
	checkEmpty(t, scratch)
	processes := must.Get(filepath.Glob("/proc/[0-9]*/cmdline"))(t)
	for _, p := range processes {
		line, _ := os.ReadFile(p)
		if strings.Contains(string(line), scratch) {
			t.Errorf("still running: %q", line)
		}
	}
}

// checkEmpty checks that nothing is left in a directory.
func checkEmpty(t *testing.T, dir string) {
	t.Helper()
	filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if path != dir {
			t.Errorf("left: %s", path)
			return filepath.SkipAll
		}
		return nil
	})
}
