package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Workspace is a copy of a workspace outside of the repository, and a command "bazel" for it, which
// takes the tools as they are built by Go: building them by Bazel, as a user's first build does,
// takes minutes.
type Workspace struct {
	testing.TB
	Dir         string // of the workspace
	Base        string // Bazel's output base
	bazel, path string
}

// A seat is a directory for a workspace and the Bazel server for it. Tests of a package share it,
// one after the other: a server takes many seconds to start, to resolve the modules, and to warm
// up. Between tests only external repositories stay in it.
type seat string

func (s seat) workspace() string  { return filepath.Join(string(s), "workspace") }
func (s seat) outputBase() string { return filepath.Join(string(s), "base") }
func (s seat) programs() string   { return filepath.Join(string(s), "bin") }
func (s seat) options() string    { return filepath.Join(string(s), "bazelrc") }
func (s seat) bazel() string      { return filepath.Join(s.programs(), "bazel") }

// seats are those that no test has.
var seats struct {
	sync.Mutex
	free []seat
}

func takeSeat(tb testing.TB) seat {
	tb.Helper()
	seats.Lock()
	defer seats.Unlock()
	if n := len(seats.free); n > 0 {
		s := seats.free[n-1]
		seats.free = seats.free[:n-1]
		return s
	}
	bazel, err := exec.LookPath("bazel")
	if err != nil {
		tb.Skip("SKIPPED: bazel isn't on PATH (./bazelw --root-exec has it)")
	}
	dir, err := os.MkdirTemp("", "bazel")
	if err != nil {
		tb.Fatal(err)
	}
	s := seat(dir)
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' --output_base='%s' --bazelrc='%s' \"$@\"\n",
		bazel, s.outputBase(), s.options())
	WriteFile(tb, s.bazel(), script)
	if err := os.Chmod(s.bazel(), 0o755); err != nil {
		tb.Fatal(err)
	}
	return s
}

// leave empties a seat for the next test. The directory of the workspace stays, without which the
// server would end.
func (s seat) leave(tb testing.TB) {
	Command{Argv: []string{s.bazel(), "clean"}, Dir: s.workspace()}.Run()
	files, err := os.ReadDir(s.workspace())
	if err != nil {
		tb.Error(err)
	}
	for _, file := range files {
		if err := os.RemoveAll(filepath.Join(s.workspace(), file.Name())); err != nil {
			tb.Error(err)
		}
	}
	seats.Lock()
	defer seats.Unlock()
	seats.free = append(seats.free, s)
}

// removeSeats ends the servers and removes their files.
func removeSeats() {
	for _, s := range seats.free {
		os.MkdirAll(s.workspace(), 0o777)
		os.WriteFile(filepath.Join(s.workspace(), "MODULE.bazel"), nil, 0o666)
		Command{Argv: []string{s.bazel(), "shutdown"}, Dir: s.workspace()}.Run()
		Command{Argv: []string{"chmod", "-R", "u+w", string(s)}}.Run()
		os.RemoveAll(string(s))
	}
}

// NewWorkspace makes one of a directory of the repository. It skips the test where Bazel, or one
// of the programs, isn't on PATH.
func NewWorkspace(tb testing.TB, from string, programs ...string) *Workspace {
	tb.Helper()
	Need(tb, programs...)
	s := takeSeat(tb)
	w := &Workspace{TB: tb, Dir: s.workspace(), Base: s.outputBase(), bazel: s.bazel(),
		path: s.programs() + ":" + os.Getenv("PATH")}
	CopyWorkspace(tb, from, w.Dir)
	flag := AddTools(tb, w.Dir, Tool(tb, "btfgen"), Tool(tb, "btfdedup"))
	WriteFile(tb, s.options(), "build "+flag+"\n")
	tb.Cleanup(func() { s.leave(tb) })
	return w
}

// Argv is the command line of Bazel with arguments.
func (w *Workspace) Argv(args ...string) []string {
	return append([]string{w.bazel}, args...)
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
