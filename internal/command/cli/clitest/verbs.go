// Package clitest tests what all commands of all programs have in common.
package clitest

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

const columns = 100 // of a help text

func required(c *cobra.Command) (names []string) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[cobra.BashCompOneRequiredFlag] != nil {
			names = append(names, f.Name)
		}
	})
	return names
}

// Verbs tests each command of a program: its help text and the examples in it, how many flags it
// has, its common flags, and its exit codes for files that don't exist and for wrong usage.
func Verbs(t *testing.T, program func() *cobra.Command) {
	t.Chdir(t.TempDir())
	run := func(args ...string) (code int, stdout, stderr string) {
		var o, e bytes.Buffer
		code = cli.Execute(program, args, nil, &o, &e)
		return code, o.String(), e.String()
	}
	fails := func(t *testing.T, want int, text string, args ...string) {
		t.Helper()
		code, stdout, stderr := run(args...)
		if code != want || stdout != "" || !strings.Contains(stderr, text) ||
			strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: exit code %d, want %d and a line with %q\n%s%s", args, code, want, text, stdout,
				stderr)
		}
	}
	const missing = "no such file"
	_, help, _ := run("--help")
	narrow(t, help)
	for _, c := range program().Commands() {
		t.Run(c.Name(), func(t *testing.T) {
			code, help, stderr := run(c.Name(), "--help")
			if code != 0 || stderr != "" {
				t.Errorf("--help: exit code %d, %s", code, stderr)
			}
			if _, same, _ := run("help", c.Name()); same != help {
				t.Errorf("help %s and --help print different texts:\n%s", c.Name(), same)
			}
			narrow(t, help)
			fewFlags(t, c)
			for e := range strings.Lines(c.Example) {
				if !strings.Contains(help, "  "+e) {
					t.Errorf("the help text lacks the example %s", e)
				}
				if words := strings.Fields(e); words[0] != "#" {
					if words[0] != program().Name() || words[1] != c.Name() {
						t.Errorf("example of another command: %s", e)
					}
					fails(t, 1, missing, words[1:]...) // all flags are right, but no file exists
				}
			}

			files, flags := strings.Fields(c.Use)[1:], []string{c.Name(), "-j1"}
			for _, name := range required(c) {
				flags = append(flags, "--"+name+"=none-"+name)
			}
			for i, name := range required(c) {
				fails(t, 2, `required flag(s) "`+name+`" not set`,
					slices.Concat(slices.Delete(slices.Clone(flags), 2+i, 3+i), files)...)
			}
			if c.Flags().Lookup("output") != nil && !slices.Contains(required(c), "output") {
				flags = append(flags, "-oout")
			}
			common := map[string]string{"base": "base.btf", "features": "var,float", "skipped": "list",
				"verbose": "true", "stats": "stats"}
			for name, value := range common {
				if c.Flags().Lookup(name) != nil {
					flags = append(flags, "--"+name+"="+value)
				}
			}
			with := func(more ...string) []string { return slices.Concat(flags, more, files) }
			fails(t, 1, missing, with()...)
			fails(t, 2, "must be a number of threads, from 1 to ", with("-jfoo")...)
			fails(t, 2, "must be a number of threads, from 1 to ", with("-j0")...)
			if c.Flags().Lookup("verbose") != nil {
				fails(t, 2, "--quiet and --verbose", with("-q")...)
			} else {
				fails(t, 1, missing, with("-q")...)
			}
			if out := c.Flags().Lookup("output"); out != nil && !strings.Contains(out.Usage, "directory") {
				// What the Go runtime opens if standard output is closed.
				closed := must.Get(os.OpenFile(os.DevNull, os.O_RDWR, 0))(t)
				defer closed.Close()
				args := slices.DeleteFunc(with("-o-"), func(arg string) bool {
					return arg == "-oout" || arg == "--output=none-output"
				})
				var stderr bytes.Buffer
				code := cli.Execute(program, args, nil, closed, &stderr)
				if code != 1 || !strings.HasSuffix(stderr.String(), ": -o -: standard output is closed\n") {
					t.Errorf("standard output is closed: exit code %d, %s", code, &stderr)
				}
			}
			if c.Flags().Lookup("features") != nil {
				fails(t, 2, `unknown feature "x"`, with("--features=x")...)
			}
		})
	}
}

// narrow fails the test if a line of a help text is too long.
func narrow(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if len(line) > columns+1 {
			t.Errorf("a line of the help text has %d columns: %s", len(line)-1, line)
		}
	}
}
