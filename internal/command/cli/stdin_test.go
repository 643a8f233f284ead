package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// cat is a program that prints the files that are its inputs.
func cat() *Program {
	return &Program{Name: "cat", Verbs: []Verb{{
		Name: "files", Args: "[FILE...]", Worker: true, Flags: Base,
		Setup: func(fs *FlagSet) Run {
			var also string
			var list []string
			fs.InputVar(&also, "also", "")
			fs.InputsVar(&list, "list", "")
			return func(env *Env, args []string) error {
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
			}
		},
	}, {
		Name: "names", Args: "FILE...", NoStdin: "names are needed",
		Setup: func(*FlagSet) Run { return func(*Env, []string) error { return nil } },
	}}}
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
		{"files - -", 2, "", "cat: files: 2 inputs are standard input (-), which can be read once (see"},
		{"files --base=- --also - -", 2, "", "3 inputs are standard input"},
		{"names x -", 2, "", "cat: names: it doesn't read standard input: names are needed (see"},
	} {
		var stdout, stderr bytes.Buffer
		p := cat()
		p.Stdin, p.Stdout, p.Stderr = strings.NewReader("hello"), &stdout, &stderr
		if code := p.Run(strings.Fields(c.args)); code != c.code || stdout.String() != c.stdout ||
			!strings.Contains(stderr.String(), c.stderr) {
			t.Errorf("%s: exit code %d, %q, %s\nwant %d, %q, %s", c.args, code, &stdout, &stderr, c.code,
				c.stdout, c.stderr)
		}
	}
}

// TestStdinOfProcess is about standard input that is a file, or a pipe, of which something may have
// been read before.
func TestStdinOfProcess(t *testing.T) {
	const helper = "CLI_TEST_CAT"
	if os.Getenv(helper) != "" {
		os.Exit(cat().Run([]string{"files", "-"}))
	}
	path := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(path, []byte("head tail"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		skip   int64 // bytes of the file that were read before; -1 for a pipe
		wanted string
	}{{"file", 0, "head tail"}, {"rest of a file", 5, "tail"}, {"pipe", -1, "through a pipe"}} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestStdinOfProcess$")
		cmd.Env = append(os.Environ(), helper+"=1")
		cmd.Stdin = strings.NewReader("through a pipe")
		if c.skip >= 0 {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.Seek(c.skip, 0); err != nil {
				t.Fatal(err)
			}
			cmd.Stdin = f
		}
		out, err := cmd.CombinedOutput()
		if want := strings.Repeat("/dev/stdin: "+c.wanted+"\n", 2); err != nil || string(out) != want {
			t.Errorf("%s: %v, %q, want %q", c.name, err, out, want)
		}
	}
}
