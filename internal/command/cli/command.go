package cli

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NewFlags makes the flags of a command, with those of the common ones that it takes. The words in
// the command's Use say which arguments it takes: "A B" are two, "FILE..." is one or more,
// "[FILE...]" any number.
func NewFlags(c *cobra.Command, takes Common) *FlagSet {
	f := &FlagSet{FlagSet: c.Flags(), command: c, takes: takes}
	f.common()
	return f
}

// MarkRequired makes flags that were defined, or will be, required.
func (f *FlagSet) MarkRequired(names ...string) { f.required = append(f.required, names...) }

// Command returns the command, which calls run with its flags and arguments checked.
func (f *FlagSet) Command(run Run) *cobra.Command {
	c := f.command
	c.Long = strings.TrimSpace(strings.TrimSpace(c.Long) + "\n\n" + f.aboutStdin())
	c.Example = strings.TrimSpace(c.Example)
	c.Args = checkArgs
	for _, name := range f.required {
		if err := c.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
	f.paholeNames()
	c.RunE = func(c *cobra.Command, args []string) error {
		env := newEnv(c)
		if env.Worker && f.takes&Worker == 0 {
			return errNoWorker
		}
		if err := f.run(env, c, args, run); err != nil {
			return &failure{err}
		}
		return nil
	}
	return c
}

// run checks the flags and arguments, and calls run.
func (f *FlagSet) run(env *Env, c *cobra.Command, args []string, run Run) error {
	dir, _ := workDir(c)
	args = f.moveTo(dir, args)
	if err := f.check(args); err != nil {
		return err
	}
	undo, err := f.takeStdin(env, args)
	if err != nil {
		return err
	}
	defer undo()
	env.Flags = f.values
	defer env.LimitThreads()()
	f.missingDirs(env)
	return run(env, args)
}

// checkArgs checks the number of arguments.
func checkArgs(c *cobra.Command, args []string) error {
	n, want := len(args), strings.Fields(c.Use)[1:]
	if i := slices.Index(args, ""); i >= 0 {
		return fmt.Errorf("argument %d is empty; name a file", i+1)
	}
	switch {
	case n == len(want), len(want) > 0 && strings.HasPrefix(want[0], "["):
		return nil
	case n < len(want):
		return fmt.Errorf("%s is missing", want[n])
	case len(want) == 0:
		return fmt.Errorf("too many arguments: it takes none, and there is %q", args[0])
	case strings.HasSuffix(c.Use, "..."):
		return nil
	}
	return fmt.Errorf("too many arguments: it takes %s, and after that there is %q",
		strings.Join(want, " "), args[len(want)])
}

// aboutStdin says what - means as the name of a file.
func (f *FlagSet) aboutStdin() string {
	switch {
	case f.NoStdin != "":
		return "An argument - is not standard input: " + f.NoStdin + "."
	case f.takes&Output == 0:
		return "An input - is standard input."
	}
	return "An input - is standard input, an output - standard output."
}

// usage prints what follows the description in a help text. It is cobra's, with lines that are
// wrapped.
func usage(c *cobra.Command) error {
	const columns = 100
	var b bytes.Buffer
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "Usage:\n  %s COMMAND [flags] [arguments]\n\nCommands:\n", c.CommandPath())
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(&b, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	} else {
		fmt.Fprintf(&b, "Usage:\n  %s\n", c.UseLine())
	}
	if c.HasAvailableLocalFlags() {
		fmt.Fprintf(&b, "\nFlags:\n%s", c.LocalFlags().FlagUsagesWrapped(columns))
	}
	if c.HasExample() {
		b.WriteString("\nExamples:\n")
		for line := range strings.Lines(c.Example) {
			b.WriteString("  " + line)
		}
		b.WriteString("\n")
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n\"%s COMMAND --help\" says more about a command.\n", c.CommandPath())
	}
	_, err := b.WriteTo(c.OutOrStdout())
	return err
}

// flagError is the error for what pflag refused.
func flagError(c *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return fmt.Errorf("%w%s", err, paholeHint(c.Flags(), unknown.GetSpecifiedName()))
	}
	return err
}
