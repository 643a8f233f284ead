package clitest

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// emptyBTF is BTF without types: a header of 24 bytes and one string.
var emptyBTF = []byte{
	0x9f, 0xeb, 1, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
}

// Stdin runs each verb of a program with the argument "-" and a standard input in no known format.
// The verb must read standard input, or report that it can't.
func Stdin(t *testing.T, program func() *cobra.Command) {
	base := filepath.Join(t.TempDir(), "base.btf")
	must.OK(t, os.WriteFile(base, emptyBTF, 0o666))
	t.Chdir(t.TempDir())
	for _, c := range program().Commands() {
		args := []string{c.Name()}
		if c.Flags().Lookup("base") != nil {
			args = append(args, "--base="+base)
		}
		for _, name := range required(c) {
			args = append(args, "--"+name+"=none-"+name)
		}
		args = append(args, "-")
		for range strings.Fields(c.Use)[2:] {
			args = append(args, "nonexistent")
		}
		want, wantCode := cli.Stdin+": ", 1
		if strings.Contains(c.Long, "As an argument, - doesn't mean standard input") {
			want, wantCode = "the argument - doesn't mean standard input here: ", 2
		} else if !strings.Contains(c.Long, "As an input file, - means standard input") {
			t.Errorf("%s: the help text doesn't explain -", c.Name())
		}
		var stderr bytes.Buffer
		code := cli.Execute(program, args, strings.NewReader("#!/nonsense\n"), new(bytes.Buffer), &stderr)
		if code != wantCode || !strings.Contains(stderr.String(), want) {
			t.Errorf("%q: exit code %d, %s\nwant %d and %q", args, code, &stderr, wantCode, want)
		}
		if out := c.Flags().Lookup("output"); out != nil && strings.Contains(out.Usage, "directory") {
			stderr.Reset()
			args[slices.Index(args, "--output=none-output")] = "-o-"
			code := cli.Execute(program, args, nil, nil, &stderr)
			if code != 2 || !strings.Contains(stderr.String(), "is not a directory") {
				t.Errorf("%q: exit code %d, %s", args, code, &stderr)
			}
		}
	}
}
