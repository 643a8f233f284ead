package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/cli/clitest"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

func TestStdin(t *testing.T) { clitest.Stdin(t, program) }

// TestStdinIsTheFile: verbs produce the same output from standard input as from the file.
func TestStdinIsTheFile(t *testing.T) {
	o := programtest.Compile(t, `struct s { int i; }; int f(struct s *s) { return s->i; }`,
		"gcc", "-g", "-O2", "-c")
	data, err := os.ReadFile(o)
	must.OK(t, err)
	for _, verb := range []string{"elf", "object", "facts"} {
		code, want, stderr := btfgen(verb, "-o-", o)
		if code != 0 || want == "" {
			t.Fatalf("%s: exit code %d, %s", verb, code, stderr)
		}
		var stdout bytes.Buffer
		args := []string{verb, "-o", "-", "-"}
		code = cli.Execute(program, args, bytes.NewReader(data), &stdout, nil)
		if code != 0 || stdout.String() != want {
			t.Errorf("%s: exit code %d, %q, want %q", verb, code, &stdout, want)
		}
	}
}
