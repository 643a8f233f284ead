package cli

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/support/message"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// Env is what a command sees of the outside, and the values of its common flags.
type Env struct {
	Program, Verb  string
	Worker         bool // other runs share the process
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Flags
}

// newEnv is the Env of a command.
func newEnv(c *cobra.Command) *Env {
	_, inWorker := workDir(c)
	return &Env{Program: c.Root().Name(), Verb: c.Name(), Worker: inWorker, Stdin: c.InOrStdin(),
		Stdout: c.OutOrStdout(), Stderr: c.ErrOrStderr()}
}

// Error prints the line for an error on Stderr. It is for commands that go on after one.
func (e *Env) Error(err error) {
	fmt.Fprintf(e.Stderr, "%s: %s\n", e.Program, oneLine(advise(err.Error())))
}

// Warn prints a line for the user on Stderr, unless Quiet.
func (e *Env) Warn(format string, args ...any) {
	if e.Quiet {
		return
	}
	message := advise(fmt.Sprintf(format, args...))
	fmt.Fprintf(e.Stderr, "%s: warning: %s\n", e.Program, oneLine(message))
}

// Tell prints a line for the user on Stderr, if Verbose.
func (e *Env) Tell(line string) {
	if e.Verbose {
		fmt.Fprintf(e.Stderr, "%s: %s\n", e.Program, oneLine(line))
	}
}

// UsageError is an error in how the command was called. The exit code is 2.
type UsageError struct{ Msg string }

func (e *UsageError) Error() string { return e.Msg }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

func isUsage(err error) bool {
	_, ok := errors.AsType[*UsageError](err)
	return ok
}

// ErrNo ends a command with exit code 1 and nothing more on Stderr: it has printed its answer, and
// the answer is no.
var ErrNo = errors.New("no")

// exitCode calls run, prints the line for its error and returns the exit code. Panics become an
// error line: that of an input that is truncated while it is mapped, or else the last guard, not a
// way to report errors.
func (e *Env) exitCode(run func() error) (code int) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			code = 1
			p := parallel.Recovered(r)
			if err := p.Truncated(); err != nil {
				e.Error(err)
				return
			}
			e.Error(p.Internal())
		}
	}()
	err := run()
	if err == nil {
		return 0
	}
	if errors.Is(err, ErrNo) {
		return 1
	}
	e.Error(err)
	if isUsage(err) {
		return 2
	}
	return 1
}

// oneLine makes a message a single line without control characters.
func oneLine(s string) string {
	return message.Printable(strings.ReplaceAll(strings.TrimSpace(s), "\n", "; "))
}
