package clitest

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
)

// Row is a run of a program, and what must come of it.
type Row struct {
	Args   string // separated by spaces; DIR is the test's directory
	Code   int
	Stdout string // a part of standard output, or a Whole; "" if it must be empty
	Stderr string // a part of standard error, which has no other lines; "" if it must be empty
}

// Whole marks a Stdout that is all of the standard output.
func Whole(stdout string) string { return "\x02" + stdout + "\x03" }

// MadeLine is the line with which a command says what it has made.
var MadeLine = regexp.MustCompile(
	`(?m)^\w+: (archive|embed): (.*), [\d.]+ (?:bytes|.?B) written, \d+\.\d\d s\n`)

// Execute runs a program. The text from standard error lacks the line that says what was made.
func Execute(program func() *cobra.Command, args ...string) (code int, stdout, stderr string) {
	var o, e bytes.Buffer
	code = cli.Execute(program, args, nil, &o, &e)
	return code, o.String(), MadeLine.ReplaceAllString(e.String(), "")
}

// Run runs a command of a program, which may be "", with the row's arguments.
func (r Row) Run(t *testing.T, program func() *cobra.Command, dir, command string) {
	t.Helper()
	args := strings.ReplaceAll(command+" "+r.Args, "DIR", dir)
	code, stdout, stderr := Execute(program, strings.Fields(args)...)
	short := func(s string) string { return strings.ReplaceAll(s, dir, "DIR") }
	stdout, stderr = short(stdout), short(stderr)
	lines := func(s string) int { return strings.Count(strings.TrimSuffix(s, "\n"), "\n") }
	if code != r.Code || !strings.Contains(Whole(stdout), short(r.Stdout)) ||
		!strings.Contains(stderr, short(r.Stderr)) || (r.Stdout == "") != (stdout == "") ||
		(r.Stderr == "") != (stderr == "") || lines(stderr) > lines(r.Stderr) {
		t.Errorf("%s: exit code %d\n%s%swant %d\n%s%s", short(args), code, stdout, stderr, r.Code,
			short(r.Stdout), short(r.Stderr))
	}
}
