package main

import (
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/internal/command/cli/clitest"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

func TestVerbs(t *testing.T) { clitest.Verbs(t, program) }

func TestUsage(t *testing.T) { clitest.Usage(t, program) }

func BenchmarkCommand(b *testing.B) { clitest.Bench(b, program) }

// TestOutputsAllOrNone tests the verbs that write several files.
func TestOutputsAllOrNone(t *testing.T) {
	o := programtest.Compile(t, `struct s { int i; }; int f(struct s *s) { return s->i; }`,
		"gcc", "-g", "-O2", "-c")
	base := filepath.Join(t.TempDir(), "base.btf")
	if code, _, stderr := btfgen("elf", "-o", base, o); code != 0 {
		t.Fatal(stderr)
	}
	out := func(flag, name string) string { return flag + clitest.Out + "/" + name }
	clitest.AllOrNone(t, program,
		[]string{"elf", out("-o", "btf"), out("--skipped=", "skipped"),
			out("--distilled-base=", "base"), "--base", base, o},
		[]string{"modules", out("-o", "btf"), out("--skipped-dir=", "skipped"),
			out("--extra-dir=", "extra"), out("--inline-dir=", "inline"), "--features=+global_var",
			"--base", base, o})
}
