package cli

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

func TestSingle(t *testing.T) {
	for _, c := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{args: []string{"-x", "--help"}, stdout: "[-x --help]\n"},
		{args: []string{"usage"}, code: 2, stderr: "one: not so\n"},
		{args: []string{"bad"}, code: 1, stderr: "one: two lines; of text\n"},
		{args: []string{"no"}, code: 1},
	} {
		var stdout, stderr bytes.Buffer
		s := &Single{Name: "one", Stdout: &stdout, Stderr: &stderr,
			Run: func(env *Env, args []string) error {
				switch args[0] {
				case "usage":
					return Usagef("not so")
				case "bad":
					return errors.New("two lines\nof text")
				case "no":
					return ErrNo
				}
				_, err := fmt.Fprintln(env.Stdout, args)
				return err
			}}
		if code := s.Exec(c.args); code != c.code || stdout.String() != c.stdout ||
			stderr.String() != c.stderr {
			t.Errorf("%q: exit code %d, output %q and %q", c.args, code, &stdout, &stderr)
		}
	}
	var stderr bytes.Buffer
	s := &Single{Name: "one", Stderr: &stderr,
		Run: func(*Env, []string) error { panic("at the disco") }}
	if code := s.Exec(nil); code != 1 ||
		!bytes.HasPrefix(stderr.Bytes(), []byte("one: internal error: at the disco (at ")) {
		t.Errorf("exit code %d, %q", code, &stderr)
	}
}
