package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/cli/clitest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func TestStdin(t *testing.T) { clitest.Stdin(t, program) }

// TestStdinIsTheFile: verbs produce the same output from standard input as from the file.
func TestStdinIsTheFile(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("SKIPPED:", err)
	}
	o := filepath.Join(t.TempDir(), "a.o")
	cmd := exec.Command(gcc, "-g", "-O2", "-xc", "-c", "-o", o, "-")
	cmd.Stdin = strings.NewReader(`struct s { int i; }; int f(struct s *s) { return s->i; }`)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
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
