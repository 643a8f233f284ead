package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Workspace is a copy of a workspace outside of the repository, and a command "bazel" for it, which
// has an output base of its own and takes the tools as they are built by Go: building them by
// Bazel, as a user's first build does, takes minutes.
type Workspace struct {
	testing.TB
	Dir, path string
}

// NewWorkspace makes one of a directory of the repository. It skips the test where Bazel, or one
// of the programs, isn't on PATH.
func NewWorkspace(tb testing.TB, from string, programs ...string) *Workspace {
	tb.Helper()
	bazel, err := exec.LookPath("bazel")
	if err != nil {
		tb.Skip("SKIPPED: bazel isn't on PATH (./bazelw --root-exec has it)")
	}
	Need(tb, programs...)
	base, err := os.MkdirTemp("", "bazel")
	if err != nil {
		tb.Fatal(err)
	}
	w := &Workspace{TB: tb, Dir: tb.TempDir()}
	bin := tb.TempDir()
	w.path = bin + ":" + os.Getenv("PATH")
	tb.Cleanup(func() {
		Command{Argv: []string{filepath.Join(bin, "bazel"), "clean", "--expunge"}, Dir: w.Dir}.Run()
		Command{Argv: []string{"chmod", "-R", "u+w", base}}.Run()
		os.RemoveAll(base)
	})
	CopyWorkspace(tb, from, w.Dir)
	flag := AddTools(tb, w.Dir, Tool(tb, "btfgen"), Tool(tb, "btfdedup"))
	rc := filepath.Join(bin, "bazelrc")
	WriteFile(tb, rc, "build "+flag+"\n")
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' --output_base='%s' --bazelrc='%s' \"$@\"\n",
		bazel, base, rc)
	if err := os.WriteFile(filepath.Join(bin, "bazel"), []byte(script), 0o755); err != nil {
		tb.Fatal(err)
	}
	return w
}

// Shell runs a command line as a user types it, and returns all that it prints. The test ends if it
// fails.
func (w *Workspace) Shell(line string) string {
	w.Helper()
	printed, exit := w.Try(line)
	if exit != 0 {
		w.Fatalf("%s: exit %d\n%s", line, exit, printed)
	}
	return printed
}

// Try is Shell for a command line that may fail; it returns the exit code, too.
func (w *Workspace) Try(line string) (printed string, exit int) {
	w.Helper()
	r, err := Command{
		Argv: []string{"bash", "-c", "set -o pipefail; exec 2>&1; " + line},
		Dir:  w.Dir, Env: []string{"PATH=" + w.path},
	}.Run()
	if err != nil {
		w.Fatalf("%s: %v", line, err)
	}
	return r.Stdout, r.Exit
}

// Read returns the content of a file of the workspace.
func (w *Workspace) Read(path string) string {
	w.Helper()
	return string(ReadFile(w, filepath.Join(w.Dir, path)))
}

// Write writes a file of the workspace.
func (w *Workspace) Write(path, text string) {
	w.Helper()
	WriteFile(w, filepath.Join(w.Dir, path), text)
}

// Edit replaces what is in a file of the workspace exactly once.
func (w *Workspace) Edit(path, from, to string) {
	w.Helper()
	text := w.Read(path)
	if strings.Count(text, from) != 1 {
		w.Fatalf("%s: %q isn't there exactly once", path, from)
	}
	w.Write(path, strings.Replace(text, from, to, 1))
}
