// Package cli is what the command lines of all programs share, on top of cobra: flags that several
// commands have, @paramfile arguments, exit codes, output files that appear whole or not at all, a
// program as a persistent worker.
//
// The flags that several commands share are registered here, once: a command names those that it
// takes (Common), and gets their values, checked, in its Env. In names of flags _ is the same as -.
//
// Exit codes: 0 for success, 1 for bad input or an answer of "no" (a difference, a violation), 2
// for wrong usage.
package cli

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/internal/command/version"
)

// NewProgram makes the root of a program's commands. summary is one or two sentences.
func NewProgram(name, summary string, commands ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{Use: name, Short: strings.ReplaceAll(summary, "\n", " "), Long: summary + `

An argument @FILE stands for the lines of FILE, one argument a line.
As a file to read - is standard input, as a file to write standard output.
Exit codes: 0 success, 1 bad input or the answer "no", 2 wrong usage.`}
	root.AddCommand(commands...)
	if addManuals != nil {
		addManuals(root)
	}
	return root
}

// addManuals adds a command, in a program that is built with the tag manuals.
var addManuals func(root *cobra.Command)

// Main runs the program whose commands program makes on the process's arguments, and exits.
func Main(program func() *cobra.Command) {
	removeTempsOnSignal()
	os.Exit(Execute(program, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Execute runs a program, or the worker that args ask for, and returns the exit code. A stream that
// is nil is the process's own.
func Execute(program func() *cobra.Command, args []string, stdin io.Reader, stdout,
	stderr io.Writer) (code int) {
	root := program()
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if i := slices.Index(args, workerFlag); i >= 0 {
		return serve(newEnv(root), program, slices.Delete(slices.Clone(args), i, i+1))
	}
	return execute(root, args)
}

// workDirKey is the key of the context of a command in a worker: its value is the directory from
// which relative paths are.
type workDirKey struct{}

// workDir returns the directory of the request that a command is run for, if it is run in a worker.
func workDir(c *cobra.Command) (dir string, inWorker bool) {
	if ctx := c.Context(); ctx != nil {
		dir, inWorker = ctx.Value(workDirKey{}).(string)
	}
	return dir, inWorker
}

// execute runs the command that the arguments name and returns the exit code.
func execute(root *cobra.Command, args []string) (code int) {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.Version = version.Line()
	root.SetUsageFunc(usage)
	root.SetFlagErrorFunc(flagError)
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
	env := newEnv(root)
	return env.exitCode(func() error {
		c := root
		args, err := arguments(root, args)
		if err == nil {
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

// arguments are those that cobra gets.
func arguments(root *cobra.Command, args []string) ([]string, error) {
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		completeChoices(root)
		return args, nil
	}
	if root.DisableFlagParsing {
		return args, nil
	}
	dir, _ := workDir(root)
	args, err := expandParamFiles(args, dir)
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
		return nil, Usagef("a command is missing; there are %s", strings.Join(names, ", "))
	case len(args) > 1 && args[0] == "help": // so that a wrong name is an error
		return append(args[1:], "--help"), nil
	}
	return args, nil
}

// didYouMean makes one line of cobra's message about a command that there isn't.
func didYouMean(text string) string {
	text, list, ok := strings.Cut(text, "\n\nDid you mean this?\n")
	if !ok {
		return text
	}
	return text + "; did you mean " + strings.Join(strings.Fields(list), " or ") + "?"
}

// Help texts list commands in the order of NewProgram's arguments.
func init() { cobra.EnableCommandSorting = false }

// Run does a command's work. args are its arguments.
type Run func(env *Env, args []string) error

// failure is the error of a command's work. All other errors that cobra returns are wrong usage.
type failure struct{ error }

// RunE is run as cobra calls it, for a command that has no FlagSet.
func RunE(run Run) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		env := newEnv(c)
		if env.Worker {
			return errNoWorker
		}
		if err := run(env, args); err != nil {
			return &failure{err}
		}
		return nil
	}
}

var errNoWorker = errors.New("not available in a persistent worker")
