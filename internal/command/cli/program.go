// Package cli adds to cobra what the command lines of all programs share: flags that several
// commands have, @paramfile arguments, exit codes, and output files that appear whole or not at
// all.
//
// The flags that several commands share are defined only here. A command lists which of these flags
// it takes (Common), and finds their checked values in its Env. In flag names, _ is the same as -.
//
// Exit codes: 0 for success, 1 for bad input or an answer of "no" (a difference, a violation), 2
// for wrong usage.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/internal/command/version"
)

// NewProgram makes a program's root command. The parameter summary is one or two sentences.
// Rule: verbs: how to add one. Write a file with its command, as the others in tools/btfdedup, list
// the command in main.go and the file in BUILD.bazel, and add it to docs/command-line.md.
func NewProgram(name, summary string, commands ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{Use: name, Short: strings.ReplaceAll(summary, "\n", " "), Long: summary + `

An argument @FILE is replaced by the lines of FILE, one argument per line.
As an input file, - means standard input; as an output file, - means standard output.
Exit codes: 0 for success, 1 for bad input or the answer "no", 2 for wrong usage.`}
	root.AddCommand(commands...)
	if addManuals != nil {
		addManuals(root)
	}
	return root
}

// addManuals adds the command "manuals". It is nil if the build tag "manuals" is not set.
var addManuals func(root *cobra.Command)

// Main makes a program, runs it with the arguments of the process, and exits.
func Main(program func() *cobra.Command) {
	removeTempsOnSignal()
	checkLimits(program().Name())
	os.Exit(Execute(program, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// leastFiles is how many open files the Go runtime and a command with one input need. With fewer,
// the runtime ends the process with a stack trace.
const leastFiles = 8

// checkLimits ends the process if it may open too few files.
func checkLimits(name string) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err == nil && limit.Cur < leastFiles {
		fmt.Fprintf(os.Stderr, "%s: only %d files may be open at the same time, but at least %d are "+
			"needed; raise the limit (ulimit -n)\n", name, limit.Cur, leastFiles)
		os.Exit(1)
	}
}

// Execute runs a program and returns the exit code. A nil stream means the process's own stream.
// Rule: wrong usage: messages.
func Execute(program func() *cobra.Command, args []string, stdin io.Reader, stdout,
	stderr io.Writer) (code int) {
	root := program()
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.Version = version.Line()
	root.SetUsageFunc(usage)
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
	env := newEnv(root)
	return env.exitCode(func() error {
		c := root
		args, err := arguments(root, args)
		if err == nil {
			if err := checkValues(root, args); err != nil {
				return err
			}
			root.SetArgs(args)
			c, err = root.ExecuteC()
		}
		if f, ok := errors.AsType[*failure](err); ok {
			if err = f.error; !isUsage(err) {
				return err
			}
		}
		if err != nil {
			return Usagef("%s (see %s --help)", didYouMean(err.Error()), c.CommandPath())
		}
		return nil
	})
}

func arguments(root *cobra.Command, args []string) ([]string, error) {
	if root.DisableFlagParsing ||
		len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return args, nil
	}
	args, err := expandParamFiles(args)
	switch {
	case err != nil && !isUsage(err):
		return nil, &failure{err}
	case err != nil:
		return nil, err
	case len(args) == 0 && root.HasSubCommands():
		var names []string
		for _, c := range root.Commands() {
			names = append(names, c.Name())
		}
		return nil, Usagef("a command is missing; the commands are %s", strings.Join(names, ", "))
	case len(args) > 1 && args[0] == "help": // so that a wrong name is an error
		return append(args[1:], "--help"), nil
	}
	return args, nil
}

// didYouMean makes one line from cobra's message about an unknown command.
func didYouMean(text string) string {
	text, list, ok := strings.Cut(text, "\n\nDid you mean this?\n")
	if !ok {
		return text
	}
	return text + "; did you mean " + strings.Join(strings.Fields(list), " or ") + "?"
}

// Help texts list commands in the order of NewProgram's arguments.
func init() { cobra.EnableCommandSorting = false }

// Run does a command's work. The parameter args has the command's arguments.
type Run func(env *Env, args []string) error

// failure is an error that a command's Run returned. All other errors from cobra mean wrong usage.
type failure struct{ error }

// RunE adapts run to cobra, for a command that has no FlagSet.
func RunE(run Run) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if err := run(newEnv(c), args); err != nil {
			return &failure{err}
		}
		return nil
	}
}
