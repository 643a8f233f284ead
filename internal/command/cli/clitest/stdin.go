package clitest

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/command/cli"
)

// emptyBTF is BTF without types: a header of 24 bytes and one string.
var emptyBTF = []byte{
	0x9f, 0xeb, 1, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
}

// Stdin gives each verb of a program the argument - and standard input that is no file of any kind.
// It wants the verb to read it, or to say that it doesn't.
func Stdin(t *testing.T, program func() *cli.Program) {
	base := filepath.Join(t.TempDir(), "base.btf")
	if err := os.WriteFile(base, emptyBTF, 0o666); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, v := range program().Verbs {
		args := []string{v.Name}
		if v.Flags&(cli.Output|cli.OutputDir) != 0 {
			args = append(args, "-oout")
		}
		if v.Flags&cli.Base != 0 {
			args = append(args, "--base="+base)
		}
		for _, name := range v.Required {
			args = append(args, "--"+name+"=1")
		}
		args = append(args, "-")
		for range strings.Fields(v.Args)[1:] {
			args = append(args, "nonexistent")
		}
		want, wantCode := cli.Stdin+": ", 1
		if v.NoStdin != "" {
			want, wantCode = "it doesn't read standard input: "+v.NoStdin, 2
		}
		var stderr bytes.Buffer
		p := program()
		p.Stdin, p.Stdout, p.Stderr = strings.NewReader("#!/nonsense\n"), new(bytes.Buffer), &stderr
		if code := p.Run(args); code != wantCode || !strings.Contains(stderr.String(), want) {
			t.Errorf("%q: exit code %d, %s\nwant %d and %q", args, code, &stderr, wantCode, want)
		}
		var help bytes.Buffer
		p.Stdout = &help
		if p.Run([]string{v.Name, "--help"}); !strings.Contains(help.String(), "- is ") {
			t.Errorf("%s: the help text doesn't say what - is", v.Name)
		}
		if v.Flags&cli.OutputDir != 0 {
			p, i := program(), slices.Index(args, "-oout")
			stderr.Reset()
			p.Stderr, args[i] = &stderr, "-o-"
			if code := p.Run(args); code != 2 || !strings.Contains(stderr.String(), "is no directory") {
				t.Errorf("%q: exit code %d, %s", args, code, &stderr)
			}
		}
	}
}
