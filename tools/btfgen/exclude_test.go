package main

import (
	"github.com/rules-btf/rules_btf/internal/support/programtest"
	"os"
	"strings"
	"testing"
)

// TestNothingLeft leaves out the languages of all compilation units: BTF without types is an error,
// but split BTF may have no types.
func TestNothingLeft(t *testing.T) {
	t.Chdir(t.TempDir())
	// As in a kernel, assembler units remain, which have no types.
	programtest.Shell(t, "", `echo 'struct s { int x; } s;' > a.c; echo 'nop' > b.S
		gcc -std=gnu11 -g -c a.c; gcc -g -c b.S; ld -e 0 -o linked a.o b.o; ld -e 0 -o bare b.o`)
	if code, _, stderr := btfgen("elf", "-o", "base.btf", "linked"); code != 0 {
		t.Fatal(stderr)
	}
	for _, c := range []struct {
		args   string
		code   int
		stderr string
	}{
		{"--lang-exclude=c11 linked", 1,
			"linked: no type is left to encode: --lang-exclude leaves out 1 compilation unit\n"},
		{"--lang-exclude=c11,asm linked", 1, "leaves out 2 compilation units\n"},
		{"--lang-exclude=rust,c89 linked", 0, ""},
		{"bare", 1, "bare: there is no type to encode: its DWARF describes none"},
		{"--base=base.btf --lang-exclude=c11 linked", 0, "warning: linked: no type is left to encode"},
		{"--base=base.btf linked", 0, ""},
	} {
		os.Remove("out")
		code, _, stderr := btfgen(append([]string{"elf", "-o", "out"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(stderr, c.stderr) || c.stderr == "" && stderr != "" {
			t.Errorf("%s: exit code %d\n%swant %d, %s", c.args, code, stderr, c.code, c.stderr)
		}
		if _, err := os.Stat("out"); (err == nil) != (c.code == 0) {
			t.Errorf("%s: the output: %v", c.args, err)
		}
	}
}
