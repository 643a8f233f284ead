package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// cat is a program that prints its input files.
func cat() *cobra.Command {
	f := NewFlags(&cobra.Command{Use: "files [FILE...]"}, Base)
	var also string
	var list []string
	f.InputVar(&also, "also", "")
	f.InputsVar(&list, "list", "")
	names := NewFlags(&cobra.Command{Use: "names FILE..."}, 0)
	names.NoStdin = "names are needed"
	return NewProgram("cat", "", f.Command(func(env *Env, args []string) error {
		for _, path := range append(append(append(args, env.Bases...), also), list...) {
			if path == "" {
				continue
			}
			for range 2 { // unlike a pipe, it can be read again
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				fmt.Fprintf(env.Stdout, "%s: %s\n", path, data)
			}
		}
		return nil
	}), names.Command(func(*Env, []string) error { return nil }))
}

func TestStdin(t *testing.T) {
	const twice = "/dev/stdin: hello\n/dev/stdin: hello\n"
	for _, c := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"files -", 0, twice, ""},
		{"files --base=-", 0, twice, ""},
		{"files --also=-", 0, twice, ""},
		{"files --list - --list=/dev/null", 0, twice + "/dev/null: \n/dev/null: \n", ""},
		{"files - -", 2, "", "cat: 2 inputs are standard input (-), which can be read only once (see"},
		{"files --base=- --also - -", 2, "", "3 inputs are standard input"},
		{"names x -", 2, "",
			"cat: the argument - doesn't mean standard input here: names are needed (see"},
	} {
		var stdout, stderr bytes.Buffer
		code := Execute(cat, strings.Fields(c.args), strings.NewReader("hello"), &stdout, &stderr)
		if code != c.code || stdout.String() != c.stdout || !strings.Contains(stderr.String(), c.stderr) {
			t.Errorf("%s: exit code %d, %q, %s\nwant %d, %q, %s", c.args, code, &stdout, &stderr, c.code,
				c.stdout, c.stderr)
		}
	}
}

// TestStdinOfProcess reads standard input that is a pipe, or a file from which something may
// already have been read.
func TestStdinOfProcess(t *testing.T) {
	const helper = "CLI_TEST_CAT"
	if os.Getenv(helper) != "" {
		os.Exit(Execute(cat, []string{"files", "-"}, nil, nil, nil))
	}
	path := filepath.Join(t.TempDir(), "input")
	must.OK(t, os.WriteFile(path, []byte("head tail"), 0o666))
	for _, c := range []struct {
		name   string
		skip   int64 // bytes of the file that were already read; -1 for a pipe
		wanted string
	}{{"file", 0, "head tail"}, {"rest of a file", 5, "tail"}, {"pipe", -1, "through a pipe"}} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestStdinOfProcess$")
		cmd.Env = append(os.Environ(), helper+"=1")
		cmd.Stdin = strings.NewReader("through a pipe")
		if c.skip >= 0 {
			f := must.Get(os.Open(path))(t)
			defer f.Close()
			must.Get(f.Seek(c.skip, 0))(t)
			cmd.Stdin = f
		}
		out, err := cmd.CombinedOutput()
		if want := strings.Repeat("/dev/stdin: "+c.wanted+"\n", 2); err != nil || string(out) != want {
			t.Errorf("%s: %v, %q, want %q", c.name, err, out, want)
		}
	}
}
