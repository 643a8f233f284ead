// Package cli is the command plumbing: verbs with flags, @paramfile arguments, --help and
// --version, exit codes and atomic output files.
//
// The flags that several verbs share are registered here, once: a verb names those that it takes
// (Common), and gets their values, checked, in its Env. In names of flags _ is the same as -.
//
// Exit codes: 0 for success, 1 for bad input or an answer of "no" (a difference, a violation), 2
// for wrong usage.
package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/command/version"
	"github.com/rules-btf/rules_btf/internal/support/message"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// Program is a command with verbs.
type Program struct {
	Name    string // as users type it
	Summary string // what it does, one or two sentences
	Verbs   []Verb // in the order of the help text

	Stdin          io.Reader // nil means os.Stdin
	Stdout, Stderr io.Writer // nil means os.Stdout, os.Stderr
}

// Verb is one thing that a program does.
type Verb struct {
	Name    string // one word
	Summary string // one line for the program's help
	// Args are the arguments in the usage line: "A B" are two, "FILE..." is one or more, "[FILE...]"
	// any number.
	Args     string
	Long     string   // paragraphs for the verb's help; may be empty
	Examples []string // whole command lines; "# …" above one explains it

	Flags  Common // those of the common flags that the verb takes
	Worker bool   // it may be asked of a persistent worker: all its paths are flags or arguments
	// NoStdin says why an argument - is not standard input, if it isn't; "" if it is.
	NoStdin  string
	Required []string // names of flags that must be given, without dashes; -o is one anyway
	// Setup defines the verb's own flags and returns what runs once they are parsed.
	Setup func(flags *FlagSet) Run
}

// Run does a verb's work. args is what is left after the flags, as many as Verb.Args says.
type Run func(env *Env, args []string) error

// Env is what a verb sees of the outside, and the values of its common flags.
type Env struct {
	Program, Verb  string
	Worker         bool // other runs share the process
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Flags
}

// Error prints the line for an error on Stderr. It is for verbs that go on after one.
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

// ErrNo ends a verb with exit code 1 and nothing more on Stderr: the verb has printed its answer,
// and the answer is no.
var ErrNo = errors.New("no")

// Main runs the program on the process's arguments and exits.
func (p *Program) Main() {
	removeTempsOnSignal()
	os.Exit(p.Run(os.Args[1:]))
}

// Run runs the program, or the worker that args ask for, and returns the exit code.
func (p *Program) Run(args []string) (code int) {
	env := newEnv(p.Name, p.Stdin, p.Stdout, p.Stderr)
	if i := slices.Index(args, workerFlag); i >= 0 {
		return p.serve(env, slices.Delete(slices.Clone(args), i, i+1))
	}
	return p.run(env, args, "")
}

// newEnv is the Env of a program; what is nil is the process's own.
func newEnv(name string, stdin io.Reader, stdout, stderr io.Writer) *Env {
	return &Env{
		Program: name,
		Stdin:   cmp.Or[io.Reader](stdin, os.Stdin),
		Stdout:  cmp.Or[io.Writer](stdout, os.Stdout),
		Stderr:  cmp.Or[io.Writer](stderr, os.Stderr),
	}
}

// run runs the program once, with relative paths from dir on.
func (p *Program) run(env *Env, args []string, dir string) (code int) {
	return env.exitCode(func() error { return p.dispatch(env, args, dir) })
}

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

func (p *Program) dispatch(env *Env, args []string, dir string) error {
	args, err := expandParamFiles(args, dir)
	if isUsage(err) {
		err = Usagef("%v (see %s --help)", err, p.Name)
	}
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return Usagef("VERB is missing; there are %s (see %s --help)",
			strings.Join(p.verbNames(), ", "), p.Name)
	}
	switch args[0] {
	case "--help", "-h":
		return p.help(env.Stdout)
	case "--version", "version":
		if len(args) > 1 {
			return Usagef("%s: too many arguments: it takes none, and there is %q (see %s --help)", args[0],
				args[1], p.Name)
		}
		_, err := fmt.Fprintf(env.Stdout, "%s %s\n", p.Name, version.Line())
		return err
	case completeWord:
		return p.complete(env.Stdout, args[1:])
	case describeWord:
		return p.describe(env.Stdout)
	case "help":
		if len(args) == 1 {
			return p.help(env.Stdout)
		}
		args = []string{args[1], "--help"}
	}
	i := slices.IndexFunc(p.Verbs, func(v Verb) bool { return v.Name == args[0] })
	if i < 0 {
		return p.unknownVerb(args[0])
	}
	return p.runVerb(env, &p.Verbs[i], args[1:], dir)
}

func (p *Program) runVerb(env *Env, v *Verb, args []string, dir string) error {
	if env.Worker && !v.Worker {
		return Usagef("%s: a persistent worker doesn't do that", v.Name)
	}
	env.Verb = v.Name
	flags, run := v.newFlagSet(&env.Flags)
	err := parseFlags(flags.FlagSet, args, v.paholeHint, flags.once())
	if help, _ := flags.GetBool("help"); help && err == nil {
		return p.verbHelp(env.Stdout, v, flags.FlagSet)
	}
	if err == nil {
		err = v.checkArgs(flags.Args())
	}
	if err == nil {
		args = flags.moveTo(dir, flags.Args())
		if err = flags.check(v.Flags, &env.Flags, args); err == nil {
			err = v.checkRequired(flags)
		}
	}
	if err == nil {
		var undo func()
		if undo, err = flags.takeStdin(v, env, args); err == nil {
			defer undo()
			defer env.LimitThreads()()
			flags.missingDirs(env)
			err = run(env, args)
		}
	}
	if isUsage(err) {
		return Usagef("%s: %v (see %s %s --help)", v.Name, err, p.Name, v.Name)
	}
	return err
}

// checkArgs checks the number of arguments.
func (v *Verb) checkArgs(args []string) error {
	n, want := len(args), strings.Fields(v.Args)
	if i := slices.Index(args, ""); i >= 0 {
		return Usagef("argument %d is empty; name a file", i+1)
	}
	switch {
	case n == len(want), strings.HasPrefix(v.Args, "["):
		return nil
	case n < len(want):
		return Usagef("%s is missing", want[n])
	case strings.HasSuffix(v.Args, "..."):
		return nil
	case len(want) == 0:
		return Usagef("too many arguments: it takes none, and there is %q", args[0])
	}
	return Usagef("too many arguments: it takes %s, and after that there is %q", v.Args,
		args[len(want)])
}

// checkRequired wants the flags that the verb can't do without.
func (v *Verb) checkRequired(flags *FlagSet) error {
	for _, name := range v.Required {
		if !flags.Changed(name) {
			return Usagef("%s is missing", flagWithValue(flags.Lookup(name)))
		}
	}
	return nil
}

func (p *Program) verbNames() []string {
	var names []string
	for _, v := range p.Verbs {
		names = append(names, v.Name)
	}
	return names
}

// oneLine makes a message a single line without control characters.
func oneLine(s string) string {
	return message.Printable(strings.ReplaceAll(strings.TrimSpace(s), "\n", "; "))
}
