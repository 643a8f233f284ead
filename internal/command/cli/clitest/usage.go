package clitest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/internal/command/cli"
)

type usage struct {
	*testing.T
	program func() *cobra.Command
}

// refused runs the program, which must exit with 2 and print one line. The line must contain text.
func (u usage) refused(text, see string, args ...string) {
	u.Helper()
	var stdout, stderr bytes.Buffer
	code := cli.Execute(u.program, args, nil, &stdout, &stderr)
	line := stderr.String()
	if code != 2 || stdout.Len() > 0 || strings.Count(line, "\n") != 1 ||
		!strings.HasPrefix(line, u.program().Name()+": ") || !strings.Contains(line, text) ||
		!strings.HasSuffix(line, fmt.Sprintf(" (see %s --help)\n", see)) {
		u.Errorf("%q: exit code %d, want 2 and a line with %q\n%s%s", args, code, text, &stdout, line)
	}
}

// Usage runs every command of a program with wrong arguments and wrong values of each flag.
func Usage(t *testing.T, program func() *cobra.Command) {
	name := program().Name()
	u := usage{t, program}
	u.refused("a command is missing; the commands are "+program().Commands()[0].Name(), name)
	u.refused("unknown flag: --versoin", name, "--versoin")
	u.refused(`unknown command "?"`, name, "?")
	for _, c := range program().Commands() {
		if !c.Hidden {
			u.refused("; did you mean "+c.Name()+"?", name, c.Name()+"x")
		}
		t.Run(c.Name(), func(t *testing.T) {
			u := usage{t, program}
			see, args := c.CommandPath(), strings.Fields(c.Use)[1:]
			u.refused("unknown flag: --no-such-flag", see, c.Name(), "--no-such-flag")
			u.refused("unknown shorthand flag: '?' in -?", see, c.Name(), "-?")
			if !strings.HasPrefix(args[0], "[") {
				u.refused(args[0]+" is missing", see, c.Name())
			}
			if !strings.Contains(c.Use, "...") {
				u.refused("too many arguments: the command takes "+strings.Join(args, " "), see,
					slices.Concat([]string{c.Name()}, args, []string{"more"})...)
			}
			c.Flags().VisitAll(func(f *pflag.Flag) { u.flag(c.Name(), see, f) })
		})
	}
}

// flag runs a command with the flag f, first without a value and then with wrong values.
func (u usage) flag(command, see string, f *pflag.Flag) {
	name := "--" + f.Name
	if f.NoOptDefVal == "" {
		u.refused("flag needs an argument: "+name, see, command, name)
		for _, other := range []string{name, name + "=x", "-j", "--help", "--jobs=1"} {
			u.refused(fmt.Sprintf("; if %s is meant as the argument, write %s=%s", other, name, other),
				see, command, name, other)
		}
	}
	var wrong []string
	switch kind := fmt.Sprintf("%T", f.Value); {
	case f.Value.Type() == "bool":
		wrong = []string{"maybe", "2", ""}
	case kind == "*cli.number":
		wrong = []string{"x", "", "1.5", "-1", "1e1", "0x10", "99999999999999999999"}
	case kind == "*cli.path":
		wrong = []string{""}
	case strings.HasPrefix(kind, "*pflag.string"):
		return // any text
	default:
		wrong = []string{"?!/ "}
	}
	for _, value := range wrong {
		u.refused(fmt.Sprintf("invalid argument %q for ", value), see, command, name+"="+value)
	}
}
