// Package harness lets tests run the tools as users do: it finds or builds the tools, makes Bazel
// workspaces, runs commands, and finds the kernel that e2e/linux builds.
package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// Repo returns the root of the repository from which this file was compiled.
func Repo() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Clean(filepath.Join(filepath.Dir(file), "../../.."))
}

var built struct {
	once sync.Once
	dir  string
	err  error
}

// Main runs the tests of a package, and then removes what the functions Tool and NewWorkspace made.
func Main(m *testing.M) {
	code := m.Run()
	removeSeats()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// Tool returns the path of btfcore, btfgen, btfdedup, btfkbuild, btfrepro or our pahole. If an
// environment variable has the tool's name in capitals, its value is the path; otherwise, the tool
// is built from source.
func Tool(tb testing.TB, name string) string {
	tb.Helper()
	if path := os.Getenv(strings.ToUpper(name)); path != "" {
		return path
	}
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "tools"); built.err != nil {
			return
		}
		cmd := exec.Command("go", "build", "-o", built.dir+"/", "./tools/btfcore", "./tools/btfgen",
			"./tools/btfdedup", "./tools/btfkbuild", "./tools/btfrepro", "./tools/pahole")
		cmd.Dir = Repo()
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		tb.Fatal(built.err)
	}
	return filepath.Join(built.dir, name)
}

// Result is the outcome of a command.
type Result struct {
	Stdout, Stderr string
	Exit           int // the exit code; -1 if a signal killed the command
	TimedOut       bool
}

// Command is a command line, with the directory and environment in which it runs.
type Command struct {
	Argv    []string
	Dir     string
	Env     []string      // added to the environment
	Timeout time.Duration // 0 means ten minutes
}

// Run runs c. It returns an error only if c could not be started, not if the command failed.
func (c Command) Run() (Result, error) {
	timeout := c.Timeout
	if timeout == 0 {
		timeout = 10 * time.Minute
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = append(os.Environ(), c.Env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	r := Result{Stdout: stdout.String(), Stderr: stderr.String(), TimedOut: ctx.Err() != nil}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		r.Exit = exit.ExitCode()
	case err != nil:
		return r, err
	}
	return r, nil
}

// MustRun runs a command in dir and returns its stdout. It fails the test if the command fails.
func MustRun(tb testing.TB, dir string, argv ...string) string {
	tb.Helper()
	return Command{Argv: argv, Dir: dir}.Must(tb)
}

// Must is like MustRun, but runs a Command, which can have environment variables.
func (c Command) Must(tb testing.TB) string {
	tb.Helper()
	r, err := c.Run()
	if err != nil {
		tb.Fatalf("%s: %v", strings.Join(c.Argv, " "), err)
	}
	if r.Exit != 0 {
		line := strings.Join(c.Argv, " ")
		if len(line) > 1000 {
			line = line[:1000] + "..."
		}
		tb.Fatalf("%s: exit %d\n%s", line, r.Exit, r.Stderr)
	}
	return r.Stdout
}

// Need skips the test if one of the programs isn't on PATH.
func Need(tb testing.TB, programs ...string) {
	tb.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			tb.Skipf("SKIPPED: %s isn't on PATH (./bazelw --root-exec has it)", p)
		}
	}
}

// Has reports whether a program is on PATH.
func Has(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// ReadFile returns the content of a file, or fails the test if the file can't be read.
func ReadFile(tb testing.TB, path string) []byte {
	tb.Helper()
	b := must.Get(os.ReadFile(path))(tb)
	return b
}

// WriteFile writes a file, and makes the directories that lead to it.
func WriteFile(tb testing.TB, path, text string) {
	tb.Helper()
	must.OK(tb, os.MkdirAll(filepath.Dir(path), 0o777))
	must.OK(tb, os.WriteFile(path, []byte(text), 0o666))
}

// ParamFile writes the lines to a parameter file, and returns the argument "@FILE" that names it.
func ParamFile(tb testing.TB, lines []string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "params")
	WriteFile(tb, path, strings.Join(lines, "\n")+"\n")
	return "@" + path
}
