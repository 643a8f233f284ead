package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// Workspace is a copy of a workspace, outside of the repository, with a command "bazel". It uses
// tools that "go build" has built, because Bazel would take minutes to build them.
type Workspace struct {
	testing.TB
	Dir  string // the workspace's directory
	Base string // Bazel's output base
	seat seat
	path string
}

// A seat is a directory for a workspace and its Bazel server. The tests of a package use a seat one
// after the other, because a server takes many seconds to start, resolve modules and warm up. When
// a test ends, everything is removed from the seat except the server and external repositories.
type seat string

func (s seat) workspace() string  { return filepath.Join(string(s), "workspace") }
func (s seat) outputBase() string { return filepath.Join(string(s), "base") }
func (s seat) programs() string   { return filepath.Join(string(s), "bin") }
func (s seat) options() string    { return filepath.Join(string(s), "bazelrc") }
func (s seat) bazel() string      { return filepath.Join(s.programs(), "bazel") }

// seats holds the seats that no test is using.
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
	must.OK(tb, err)
	s := seat(dir)
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' --output_base='%s' --bazelrc='%s' \"$@\"\n",
		bazel, s.outputBase(), s.options())
	WriteFile(tb, s.bazel(), script)
	must.OK(tb, os.Chmod(s.bazel(), 0o755))
	return s
}

// leave empties and frees a seat, except for the workspace's directory, which the server needs.
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

// removeSeats stops all servers and removes the seats.
func removeSeats() {
	for _, s := range seats.free {
		os.MkdirAll(s.workspace(), 0o777)
		os.WriteFile(filepath.Join(s.workspace(), "MODULE.bazel"), nil, 0o666)
		Command{Argv: []string{s.bazel(), "shutdown"}, Dir: s.workspace()}.Run()
		Command{Argv: []string{"chmod", "-R", "u+w", string(s)}}.Run()
		os.RemoveAll(string(s))
	}
}

// NewWorkspace copies the directory from to a seat. It skips the test if Bazel or one of the given
// programs isn't on PATH.
func NewWorkspace(tb testing.TB, from string, programs ...string) *Workspace {
	tb.Helper()
	w := NewWorkspaceWithoutTools(tb, from, programs...)
	flag := AddTools(tb, w.Dir, Tool(tb, "btfgen"), Tool(tb, "btfdedup"))
	w.SetOptions("build " + flag + "\n")
	return w
}

// NewWorkspaceWithoutTools is like NewWorkspace, but the workspace must choose a toolchain itself.
func NewWorkspaceWithoutTools(tb testing.TB, from string, programs ...string) *Workspace {
	tb.Helper()
	Need(tb, programs...)
	s := takeSeat(tb)
	w := &Workspace{TB: tb, Dir: s.workspace(), Base: s.outputBase(), seat: s,
		path: s.programs() + ":" + os.Getenv("PATH")}
	CopyWorkspace(tb, from, w.Dir)
	w.SetOptions("")
	tb.Cleanup(func() { s.leave(tb) })
	return w
}

// SetOptions writes the file with Bazel's options that is read in addition to the workspace's
// .bazelrc.
func (w *Workspace) SetOptions(bazelrc string) {
	w.Helper()
	WriteFile(w, w.seat.options(), bazelrc)
}

// AddBtfcore adds btfcore to the workspace's toolchain of prebuilt tools.
func (w *Workspace) AddBtfcore(tb testing.TB) {
	tb.Helper()
	path := filepath.Join(w.Dir, "prebuilt/files/btfcore")
	must.OK(tb, os.WriteFile(path, ReadFile(tb, Tool(tb, "btfcore")), 0o755))
	w.Edit("prebuilt/BUILD.bazel", "    btfdedup =",
		"    btfcore = \"files/btfcore\",\n    btfdedup =")
}

// Argv returns the command line that runs Bazel with the given arguments.
func (w *Workspace) Argv(args ...string) []string {
	return append([]string{w.seat.bazel()}, args...)
}

// Shell runs a command line in the workspace, as a user would type it, and returns all its output.
// It fails the test if the command fails.
func (w *Workspace) Shell(line string) string {
	w.Helper()
	printed, exit := w.Try(line)
	if exit != 0 {
		w.Fatalf("%s: exit %d\n%s", line, exit, printed)
	}
	return printed
}

// Try is like Shell, but for a command line that may fail. It also returns the exit code.
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

// Read returns the content of a file in the workspace.
func (w *Workspace) Read(path string) string {
	w.Helper()
	return string(ReadFile(w, filepath.Join(w.Dir, path)))
}

// Write writes a file in the workspace.
func (w *Workspace) Write(path, text string) {
	w.Helper()
	WriteFile(w, filepath.Join(w.Dir, path), text)
}

// Edit replaces a text in a file in the workspace. The text must occur exactly once in the file.
func (w *Workspace) Edit(path, from, to string) {
	w.Helper()
	text := w.Read(path)
	if strings.Count(text, from) != 1 {
		w.Fatalf("%s: %q doesn't occur exactly once", path, from)
	}
	w.Write(path, strings.Replace(text, from, to, 1))
}
