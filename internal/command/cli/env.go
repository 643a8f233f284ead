package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/support/mapped"
	"github.com/rules-btf/rules_btf/internal/support/message"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// Env holds a command's streams and the values of its common flags.
type Env struct {
	Program, Verb  string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Flags
	raises bool // the verb has the flag --max-decompressed
}

func newEnv(c *cobra.Command) *Env {
	return &Env{Program: c.Root().Name(), Verb: c.Name(), Stdin: c.InOrStdin(),
		Stdout: c.OutOrStdout(), Stderr: c.ErrOrStderr(),
		raises: c.Flags().Lookup(raiseFlag) != nil}
}

// Error prints an error as one line on Stderr, for commands that continue after an error.
func (e *Env) Error(err error) {
	fmt.Fprintf(e.Stderr, "%s: %s\n", e.Program, oneLine(advise(e.Program, e.raisable(err).Error())))
}

// raisable adds --max-decompressed to an error that the flag can prevent, if the verb has the flag.
func (e *Env) raisable(err error) error {
	if e.raises && errors.Is(err, message.ErrLimit) {
		return fmt.Errorf("%w, or raise --%s", err, raiseFlag)
	}
	return err
}

// Warn prints a line for the user on Stderr, unless Quiet is set.
func (e *Env) Warn(format string, args ...any) {
	if e.Quiet {
		return
	}
	message := advise(e.Program, fmt.Sprintf(format, args...))
	fmt.Fprintf(e.Stderr, "%s: warning: %s\n", e.Program, oneLine(message))
}

// Tell prints a line for the user on Stderr, if Verbose is set.
func (e *Env) Tell(line string) {
	if e.Verbose {
		fmt.Fprintf(e.Stderr, "%s: %s\n", e.Program, oneLine(line))
	}
}

// Inform prints a line for the user on Stderr, unless Quiet is set or a Bazel action runs the
// command: Bazel would show the line for each action.
func (e *Env) Inform(format string, args ...any) {
	if !e.Quiet && os.Getenv(actionVariable) == "" {
		fmt.Fprintf(e.Stderr, "%s: %s\n", e.Program, oneLine(fmt.Sprintf(format, args...)))
	}
}

// UsageError is the error for wrong usage of a command. The exit code is 2.
type UsageError struct{ Msg string }

func (e *UsageError) Error() string { return e.Msg }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

func isUsage(err error) bool {
	_, ok := errors.AsType[*UsageError](err)
	return ok
}

// ErrNo ends a command with exit code 1 and no message: the command has already printed its answer.
var ErrNo = errors.New("no")

// exitCode calls run, prints its error, if any, and returns the exit code. If an input was
// truncated while it was mapped, that is the error.
// Rule: exit codes. 0, 1 for errors and for the answer no, 2 for wrong usage.
func (e *Env) exitCode(run func() error) int {
	defer mapped.Reset()
	err := recovered(run)
	err = cmp.Or(mapped.Check(), err)
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

// recovered calls run, and returns its error. A panic also becomes an error.
func recovered(run func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // see package mapped
	defer func() {
		if r := recover(); r != nil {
			err = parallel.Recovered(r).Internal()
		}
	}()
	return run()
}

// oneLine makes a message a single line without control characters and names of temporary
// directories.
// Rule: escaped control characters in all text output. In messages.
func oneLine(s string) string {
	return message.Printable(strings.ReplaceAll(strings.TrimSpace(temps.show(s)), "\n", "; "))
}
