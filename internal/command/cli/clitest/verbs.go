// Package clitest tests what all verbs of all programs have in common.
package clitest

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/command/cli"
)

const columns = 100 // of a help text

// Verbs tests each verb of a program: its help text and the examples in it, its common flags, and
// its exit codes for files that don't exist and for wrong usage.
func Verbs(t *testing.T, program func() *cli.Program) {
	t.Chdir(t.TempDir())
	run := func(args ...string) (code int, stdout, stderr string) {
		var o, e bytes.Buffer
		p := program()
		p.Stdout, p.Stderr = &o, &e
		code = p.Run(args)
		return code, o.String(), e.String()
	}
	fails := func(t *testing.T, want int, text string, args ...string) {
		t.Helper()
		code, stdout, stderr := run(args...)
		if code != want || stdout != "" || !strings.Contains(stderr, text) ||
			strings.Count(stderr, "\n") != 1 || strings.Contains(stderr, "strconv") {
			t.Errorf("%q: exit code %d, want %d and a line with %q\n%s%s", args, code, want, text, stdout,
				stderr)
		}
	}
	const missing = "no such file"
	_, help, _ := run("--help")
	narrow(t, help)
	for _, v := range program().Verbs {
		t.Run(v.Name, func(t *testing.T) {
			code, help, stderr := run(v.Name, "--help")
			if code != 0 || stderr != "" {
				t.Errorf("--help: exit code %d, %s", code, stderr)
			}
			narrow(t, help)
			if len(v.Examples) == 0 {
				t.Error("no example")
			}
			for _, e := range v.Examples {
				if !strings.Contains(help, "  "+e+"\n") {
					t.Errorf("the help text lacks the example %s", e)
				}
				if words := strings.Fields(e); words[0] != "#" {
					if words[0] != program().Name || words[1] != v.Name {
						t.Errorf("example of another command: %s", e)
					}
					fails(t, 1, missing, words[1:]...) // all flags are right, the files aren't there
				}
			}

			flags := []string{v.Name}
			for _, f := range []struct {
				taken cli.Common
				flag  string
			}{
				{cli.Output, "-oout"}, {cli.OutputDir, "-oout"}, {cli.Base, "--base=base.btf"},
				{cli.Features, "--features=var,float"},
				{cli.Skipped, "--skipped=list"}, {cli.DistilledBase, "--distilled-base=distilled.btf"},
				{cli.Report, "--stats=stats"}, {cli.Report, "-v"}, {cli.Printed, "-oout"}, {0, "-j1"},
			} {
				if v.Flags&f.taken == f.taken {
					flags = append(flags, f.flag)
				}
			}
			files, common := strings.Fields(v.Args), slices.Clone(flags)
			for _, name := range v.Required {
				flags = append(flags, "--"+name+"=nonexistent")
			}
			with := func(more ...string) []string { return slices.Concat(flags, more, files) }
			fails(t, 1, missing, append(flags, files...)...)
			for i := range v.Required {
				others := slices.Delete(slices.Clone(flags[len(common):]), i, i+1)
				fails(t, 2, " is missing", slices.Concat(common, others, files)...)
			}
			fails(t, 2, `-j: "foo" is not a number of threads from 1 to `, with("-jfoo")...)
			fails(t, 2, `-j: "0" is not a number of threads from 1 to `, with("-j0")...)
			if v.Flags&(cli.Output|cli.OutputDir) != 0 {
				fails(t, 2, "-o OUT is missing", append([]string{v.Name}, files...)...)
			}
			if v.Flags&cli.Report != 0 && v.Flags&(cli.Output|cli.OutputDir) != 0 {
				fails(t, 2, "-o and --stats name one output", slices.Concat(slices.DeleteFunc(
					slices.Clone(flags), func(f string) bool { return f == "--stats=stats" }),
					[]string{"--stats=out"}, files)...)
			}
			if v.Flags&cli.Report != 0 {
				fails(t, 2, "--quiet and --verbose", with("-q")...)
			}
			if v.Flags&cli.Features != 0 {
				fails(t, 2, `unknown feature "x"`, with("--features=x")...)
			}
			if v.Flags&cli.DistilledBase != 0 {
				fails(t, 2, "without --base",
					append([]string{v.Name, "-oout", "--distilled-base=x"}, files...)...)
			}
		})
	}
}

// narrow wants no line of a help text to be long.
func narrow(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if len(line) > columns+1 {
			t.Errorf("a line of the help text has %d columns: %s", len(line)-1, line)
		}
	}
}
