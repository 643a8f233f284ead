package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/support/mapped"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// single returns a program with one command, which calls run.
func single(run Run) func() *cobra.Command {
	return func() *cobra.Command {
		return &cobra.Command{Use: "one", DisableFlagParsing: true, RunE: RunE(run)}
	}
}

// TestRunE runs a command that parses its own arguments.
func TestRunE(t *testing.T) {
	for _, c := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{args: []string{"-x", "--help"}, stdout: "[-x --help]\n"},
		{args: []string{"usage"}, code: 2, stderr: "one: not so (see one --help)\n"},
		{args: []string{"bad"}, code: 1, stderr: "one: two lines; of text\n"},
		{args: []string{"no"}, code: 1},
	} {
		var stdout, stderr bytes.Buffer
		code := Execute(single(func(env *Env, args []string) error {
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
		}), c.args, nil, &stdout, &stderr)
		if code != c.code || stdout.String() != c.stdout ||
			stderr.String() != c.stderr {
			t.Errorf("%q: exit code %d, output %q and %q", c.args, code, &stdout, &stderr)
		}
	}
	var stderr bytes.Buffer
	code := Execute(single(func(*Env, []string) error { panic("at the disco") }), nil, nil, nil,
		&stderr)
	if code != 1 ||
		!bytes.HasPrefix(stderr.Bytes(), []byte("one: internal error: at the disco (at ")) {
		t.Errorf("exit code %d, %q", code, &stderr)
	}
}

// TestTruncatedInput: reading a mapped, truncated file gives an ordinary error, in any thread.
func TestTruncatedInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in")
	page := os.Getpagesize()
	for _, jobs := range []int{1, 4} {
		must.OK(t, os.WriteFile(path, make([]byte, 8*page), 0o666))
		var stderr bytes.Buffer
		out := path + ".out"
		program := single(func(env *Env, _ []string) error {
			file, err := os.Open(path)
			if err != nil {
				return err
			}
			defer file.Close()
			info, err := file.Stat()
			if err != nil {
				return err
			}
			data, err := mapped.Map(file, info, path, 0, 8*page, syscall.MAP_PRIVATE)
			if err != nil {
				return err
			}
			defer mapped.Unmap(data)
			var sum atomic.Int64
			if err := os.Truncate(path, int64(page-1)); err != nil {
				return err
			}
			if err := env.WriteOutput(out, Bytes(nil)); err == nil {
				t.Error("a truncated input gave an output")
			}
			parallel.Each(jobs, make([]string, 8), func(part int) error {
				parallel.Do(jobs, 2, func(int) { sum.Add(int64(data[part*page])) })
				return nil
			}, func(int, int) {})
			t.Error("Each returned")
			return nil
		})
		code := Execute(program, nil, nil, nil, &stderr)
		if line := stderr.String(); code != 1 || strings.Count(line, "\n") != 1 ||
			!strings.HasPrefix(line, "one: "+path+": truncated while it was read; try again ") {
			t.Errorf("-j%d: exit code %d, %s", jobs, code, line)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*out*")); len(left) > 0 {
			t.Errorf("%q were not removed", left)
		}
	}
}
