package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// NewFlags returns a flag set for c, with the common flags in the set takes. The words of c.Use
// after the name are the arguments: "A B" means two, "FILE..." one or more, "[FILE...]" any number.
func NewFlags(c *cobra.Command, takes Common) *FlagSet {
	f := &FlagSet{FlagSet: c.Flags(), command: c, takes: takes}
	f.common()
	return f
}

// MarkRequired makes flags required. The flags may be defined later.
func (f *FlagSet) MarkRequired(names ...string) { f.required = append(f.required, names...) }

// Command returns the command, which checks its flags and arguments and then calls run.
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
	c.RunE = func(c *cobra.Command, args []string) error {
		env := newEnv(c)
		if err := f.run(env, args, run); err != nil {
			return &failure{env.raisable(err)}
		}
		return nil
	}
	return c
}

func (f *FlagSet) run(env *Env, args []string, run Run) error {
	if err := f.check(args); err != nil {
		return err
	}
	if err := f.checkStdout(env); err != nil {
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

func checkArgs(c *cobra.Command, args []string) error {
	n, want := len(args), strings.Fields(c.Use)[1:]
	if i := slices.Index(args, ""); i >= 0 {
		return fmt.Errorf("argument %d is empty; specify a file", i+1)
	}
	switch {
	case n == len(want), len(want) > 0 && strings.HasPrefix(want[0], "["):
		return nil
	case n < len(want):
		return fmt.Errorf("%s is missing", want[n])
	case len(want) == 0:
		return fmt.Errorf("too many arguments: the command takes none, but got %q", args[0])
	case strings.HasSuffix(c.Use, "..."):
		return nil
	}
	return fmt.Errorf("too many arguments: the command takes %s, but also got %q",
		strings.Join(want, " "), args[len(want)])
}

// aboutStdin describes what "-" means as a file name.
func (f *FlagSet) aboutStdin() string {
	switch {
	case f.NoStdin != "":
		return "As an argument, - doesn't mean standard input: " + f.NoStdin + "."
	case f.takes&Output == 0:
		return "As an input file, - means standard input."
	}
	return "As an input file, - means standard input; as an output file, - means standard output."
}

// usage prints the help text after the description. Unlike cobra's own function, it wraps lines.
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
		fmt.Fprintf(&b, "\nRun \"%s COMMAND --help\" for more about a command.\n", c.CommandPath())
	}
	_, err := b.WriteTo(c.OutOrStdout())
	return err
}
