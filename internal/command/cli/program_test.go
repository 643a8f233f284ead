package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/command/version"
)

// greeter is a program with a verb that does what its arguments say.
func greeter(stdout, stderr *bytes.Buffer) *Program {
	return &Program{
		Name: "greeter", Summary: "greeter greets.", Stdout: stdout, Stderr: stderr,
		Verbs: []Verb{{
			Name: "hello", Summary: "greet", Args: "NAME...", Long: "Greets every NAME.",
			Examples: []string{"greeter hello --loud world"},
			Setup: func(fs *FlagSet) Run {
				loud := fs.Bool("loud", false, "greet aloud")
				return func(env *Env, args []string) error {
					switch strings.Join(args, " ") {
					case "me":
						return Usagef("you know yourself")
					case "nobody":
						return ErrNo
					case "ghost":
						return fmt.Errorf("cannot see\nthe %w", errors.New("ghost\x1b"))
					case "bomb":
						fmt.Fprintln(env.Stdout, args[len(args)])
					}
					fmt.Fprintf(env.Stdout, "%v %q\n", *loud, args)
					env.Warn("greeted\n%d", len(args))
					return nil
				}
			},
		}, {
			Name: "wave", Args: "[NAME...]", Required: []string{"with"},
			Setup: func(fs *FlagSet) Run {
				with := fs.String("with", "", "the `THING` to wave")
				return func(env *Env, args []string) error {
					fmt.Fprintf(env.Stdout, "%s %q\n", *with, args)
					return nil
				}
			},
		}},
	}
}

func TestRun(t *testing.T) {
	params := filepath.Join(t.TempDir(), "args")
	if err := os.WriteFile(params, []byte("a b\n'c'\n--loud\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args                string
		code                int
		stdout, stderr      string // what they must hold
		noStdout, oneStderr bool
	}{
		{args: "", code: 2, stderr: "greeter: VERB is missing", noStdout: true, oneStderr: true},
		{args: "--help", stdout: "hello    greet"},
		{args: "-h", stdout: "Usage:"},
		{args: "help", stdout: "greeter hello --loud world"},
		{args: "help hello", stdout: "Greets every NAME."},
		{args: "--version", stdout: "greeter " + version.Number()},
		{args: "hello --help", stdout: "--loud"},
		{args: "hello -h", stdout: "greeter hello [flags] NAME..."},
		{args: "helo", code: 2, stderr: `unknown verb "helo"; did you mean hello?`, noStdout: true,
			oneStderr: true},
		{args: "hel", code: 2, oneStderr: true,
			stderr: `unknown verb "hel"; did you mean hello or help?`},
		{args: "W", code: 2, stderr: `unknown verb "W"; did you mean wave?`, oneStderr: true},
		{args: "hello --lo x", code: 2, oneStderr: true,
			stderr: "unknown flag --lo; did you mean --loud?"},
		{args: "hello -loud x", code: 2, stderr: "the flag -loud has two dashes: --loud (see",
			oneStderr: true},
		{args: "wave --with -loud", stdout: "-loud []"},
		{args: "wave --with=x -- -with", stdout: `x ["-with"]`},
		{args: "xyzzy", code: 2, stderr: `unknown verb "xyzzy" (see greeter --help)`, oneStderr: true},
		{args: "--loud", code: 2, oneStderr: true,
			stderr: "the flag --loud is before the verb; write greeter VERB --loud "},
		{args: "--versoin", code: 2, oneStderr: true,
			stderr: "unknown flag --versoin; did you mean --version? (see greeter --help)"},
		{args: "-version", code: 2, stderr: "unknown flag -version; did you mean --version?"},
		{args: "--hlep", code: 2, stderr: "unknown flag --hlep; did you mean --help?"},
		{args: "-v", code: 2, stderr: "the flag -v is before the verb"},
		{args: "hello --laud", code: 2, stderr: "unknown flag --laud; did you mean --loud?",
			noStdout: true, oneStderr: true},
		{args: "hello", code: 2, oneStderr: true,
			stderr: "greeter: hello: NAME... is missing (see greeter hello --help)\n"},
		{args: "hello me", code: 2, oneStderr: true,
			stderr: "greeter: hello: you know yourself (see greeter hello --help)\n"},
		{args: "hello nobody", code: 1, noStdout: true},
		{args: "hello ghost", code: 1, stderr: "greeter: cannot see; the ghost\\x1b\n", noStdout: true,
			oneStderr: true},
		{args: "hello bomb", code: 1,
			stderr:    "greeter: internal error: runtime error: index out of range [1] with length 1 (at ",
			oneStderr: true},
		{args: "hello you --loud", stdout: `true ["you"]`, stderr: "greeter: warning: greeted; 1\n"},
		{args: "hello @" + params + " d", stdout: `true ["a b" "'c'" "d"]`},
		{args: "hello one  two", code: 2, stderr: "argument 2 is empty", oneStderr: true},
		{args: "wave --with=flag", stdout: "flag []"},
		{args: "wave --with= you me", stdout: ` ["you" "me"]`},
		{args: "wave you", code: 2, oneStderr: true,
			stderr: "greeter: wave: --with THING is missing (see greeter wave --help)\n"},
		{args: "hello @/nonexistent", code: 1,
			stderr: "greeter: parameter file: open /nonexistent: no such file", oneStderr: true},
	} {
		var stdout, stderr bytes.Buffer
		var args []string
		if c.args != "" {
			args = strings.Split(c.args, " ")
		}
		code := greeter(&stdout, &stderr).Run(args)
		if code != c.code || !strings.Contains(stdout.String(), c.stdout) ||
			!strings.Contains(stderr.String(), c.stderr) ||
			c.noStdout && stdout.Len() > 0 || c.oneStderr && strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("greeter %s: code %d, want %d\nstdout: %s\nstderr: %s", c.args, code, c.code,
				stdout.String(), stderr.String())
		}
	}
}

func TestPanicPlaceIsTheFault(t *testing.T) {
	var stdout, stderr bytes.Buffer
	greeter(&stdout, &stderr).Run([]string{"hello", "bomb"})
	if !strings.Contains(stderr.String(), "greeter.func1.1, program_test.go:") {
		t.Errorf("the line does not name the place of the fault: %s", stderr.String())
	}
}

func TestExpandParamFiles(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		content string
		want    []string
		err     string
	}{
		{content: "", want: []string{}},
		{content: "one", want: []string{"one"}},
		{content: "one\ntwo\n", want: []string{"one", "two"}},
		{content: "with space\n\"quoted\"\n\\n\n", want: []string{"with space", `"quoted"`, `\n`}},
		{content: "\n", want: []string{""}},
		{content: "a\r\nb\r\n", want: []string{"a", "b"}},
		{content: "ok\n@other\n", err: ":2: a parameter file cannot name another"},
		{content: "a\x00b\n", err: ":1: a NUL byte"},
	} {
		path := filepath.Join(dir, "p")
		if err := os.WriteFile(path, []byte(c.content), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := expandParamFiles([]string{"@" + path}, "")
		var usage *UsageError
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) || !errors.As(err, &usage) {
				t.Errorf("%q: error %v, want a usage error with %q", c.content, err, c.err)
			}
		case err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want):
			t.Errorf("%q: %q, %v; want %q", c.content, got, err, c.want)
		}
	}
	if got, err := expandParamFiles([]string{"./@x", "-@", "a@b"}, ""); err != nil || len(got) != 3 {
		t.Error("arguments with @ inside:", got, err)
	}
	if _, err := expandParamFiles([]string{"@"}, ""); err == nil {
		t.Error("a lone @ is accepted")
	}
}

func FuzzExpandParamFiles(f *testing.F) {
	f.Add([]byte("a\nb\n"))
	f.Add([]byte("@x"))
	f.Add([]byte("\r\n\x00"))
	path := filepath.Join(f.TempDir(), "p")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		args, err := expandParamFiles([]string{"@" + path}, "")
		if err != nil {
			return
		}
		if n := bytes.Count(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) + 1; len(data) > 0 &&
			len(args) != n {
			t.Errorf("%d arguments of %d lines", len(args), n)
		}
	})
}
