package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/version"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// greeter is a program with a command that does what its arguments say.
func greeter() *cobra.Command {
	hello := NewFlags(&cobra.Command{Use: "hello NAME...", Short: "Greet", Long: "Greets every NAME.",
		Example: "greeter hello --loud world"}, 0)
	loud := hello.Bool("loud", false, "greet aloud")
	wave := NewFlags(&cobra.Command{Use: "wave [NAME...]"}, 0)
	with := wave.String("with", "", "the `THING` to wave")
	wave.MarkRequired("with")
	return NewProgram("greeter", "greeter greets.",
		hello.Command(func(env *Env, args []string) error {
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
		}),
		wave.Command(func(env *Env, args []string) error {
			fmt.Fprintf(env.Stdout, "%s %q\n", *with, args)
			return nil
		}))
}

func TestExecute(t *testing.T) {
	params := filepath.Join(t.TempDir(), "args")
	must.OK(t, os.WriteFile(params, []byte("a b\n'c'\n--loud\n"), 0o644))
	for _, c := range []struct {
		args                string
		code                int
		stdout, stderr      string // what they must contain
		noStdout, oneStderr bool
	}{
		{args: "", code: 2, noStdout: true, oneStderr: true,
			stderr: "greeter: a command is missing; the commands are hello, wave (see greeter --help)\n"},
		{args: "--help", stdout: "hello       Greet"},
		{args: "-h", stdout: "Usage:"},
		{args: "help", stdout: "greeter COMMAND"},
		{args: "help hello", stdout: "Greets every NAME."},
		{args: "hello --help", stdout: "--loud"},
		{args: "hello -h", stdout: "greeter hello NAME... [flags]"},
		{args: "hello -h", stdout: "  greeter hello --loud world\n"},
		{args: "completion bash", stdout: "__start_greeter"},
		{args: "completion zsh", stdout: "#compdef greeter"},
		{args: "helo", code: 2, noStdout: true, oneStderr: true,
			stderr: `greeter: unknown command "helo" for "greeter"; ` +
				`did you mean hello? (see greeter --help)`},
		{args: "help helo", code: 2, stderr: "; did you mean hello?", oneStderr: true},
		{args: "wav", code: 2, stderr: "; did you mean wave? (see", oneStderr: true},
		{args: "xyzzy", code: 2, oneStderr: true,
			stderr: `unknown command "xyzzy" for "greeter" (see greeter --help)`},
		{args: "hello --laud", code: 2, stderr: "unknown flag: --laud (see greeter hello --help)",
			noStdout: true, oneStderr: true},
		{args: "hello", code: 2, oneStderr: true,
			stderr: "greeter: NAME... is missing (see greeter hello --help)\n"},
		{args: "hello me", code: 2, oneStderr: true,
			stderr: "greeter: you know yourself (see greeter hello --help)\n"},
		{args: "hello nobody", code: 1, noStdout: true},
		{args: "hello ghost", code: 1, stderr: "greeter: cannot see; the ghost\\x1b\n", noStdout: true,
			oneStderr: true},
		{args: "hello bomb", code: 1,
			stderr:    "greeter: internal error: runtime error: index out of range [1] with length 1 (at ",
			oneStderr: true},
		{args: "hello bomb", code: 1, // the place of the panic
			stderr: "greeter.func1, program_test.go:"},
		{args: "hello you --loud", stdout: `true ["you"]`, stderr: "greeter: warning: greeted; 1\n"},
		{args: "hello @" + params + " d", stdout: `true ["a b" "'c'" "d"]`},
		{args: "hello one  two", code: 2, stderr: "argument 2 is empty", oneStderr: true},
		{args: "wave --with=flag", stdout: "flag []"},
		{args: "wave --with= you me", stdout: ` ["you" "me"]`},
		{args: "wave --with=x -- -with", stdout: `x ["-with"]`},
		{args: "wave you", code: 2, oneStderr: true,
			stderr: "greeter: required flag(s) \"with\" not set (see greeter wave --help)\n"},
		{args: "hello @/nonexistent", code: 1,
			stderr: "greeter: parameter file: open /nonexistent: no such file", oneStderr: true},
		{args: "--version", stdout: "greeter version " + version.Line() + "\n"},
	} {
		var stdout, stderr bytes.Buffer
		var args []string
		if c.args != "" {
			args = strings.Split(c.args, " ")
		}
		code := Execute(greeter, args, nil, &stdout, &stderr)
		if code != c.code || !strings.Contains(stdout.String(), c.stdout) ||
			!strings.Contains(stderr.String(), c.stderr) ||
			c.noStdout && stdout.Len() > 0 || c.oneStderr && strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("greeter %s: code %d, want %d\nstdout: %s\nstderr: %s", c.args, code, c.code,
				stdout.String(), stderr.String())
		}
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
		must.OK(t, os.WriteFile(path, []byte(c.content), 0o644))
		got, err := expandParamFiles([]string{"@" + path})
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
	if got, err := expandParamFiles([]string{"./@x", "-@", "a@b"}); err != nil || len(got) != 3 {
		t.Error("arguments with @ inside:", got, err)
	}
	if _, err := expandParamFiles([]string{"@"}); err == nil {
		t.Error("a lone @ is accepted")
	}
}

func FuzzExpandParamFiles(f *testing.F) {
	f.Add([]byte("a\nb\n"))
	f.Add([]byte("@x"))
	f.Add([]byte("\r\n\x00"))
	path := filepath.Join(f.TempDir(), "p")
	f.Fuzz(func(t *testing.T, data []byte) {
		must.OK(t, os.WriteFile(path, data, 0o644))
		args, err := expandParamFiles([]string{"@" + path})
		if err != nil {
			return
		}
		if n := bytes.Count(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) + 1; len(data) > 0 &&
			len(args) != n {
			t.Errorf("%d arguments of %d lines", len(args), n)
		}
	})
}
