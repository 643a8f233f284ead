package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/command/screen"
	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// someFacts are those of a file with nothing in it.
const someFacts = "btffacts 4\nmachine 0 64 little\nsymfiles no\n" +
	"variables none\nkfuncs off\nglobal\nend\n"

// slowLink links a file on a terminal, with facts that come through a pipe, and only when ready
// returns.
func slowLink(t *testing.T, s *screen.Screen, ready func(), args ...string) (code int,
	result []byte) {
	t.Helper()
	dir := t.TempDir()
	in, pipe, out := filepath.Join(dir, "in.btf"), filepath.Join(dir, "facts"), filepath.Join(dir,
		"out.btf")
	rawBTF(t, in, "s", 4)
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("no named pipe here: %v", err)
	}
	go func() {
		defer os.WriteFile(pipe, []byte(someFacts), 0) // also if ready ends the test
		ready()
	}()
	code = cli.Execute(program, append(args, "-o", out, "--facts", pipe, in), nil,
		new(bytes.Buffer), s.TTY)
	result, err := os.ReadFile(out)
	if err != nil && code == 0 {
		t.Fatal(err)
	}
	return code, result
}

func TestProgressOnTerminal(t *testing.T) {
	s := screen.New(t, 60)
	line := regexp.MustCompile(`^btfdedup link: facts, \d+\.\d s$`)
	code, shown := slowLink(t, s, func() {
		if lines := s.Lines(s.WaitFor(`facts, [1-9]\d*\.\d s`)); len(lines) != 1 ||
			!line.MatchString(lines[0]) {
			t.Errorf("the terminal shows %q", lines)
		}
	}, "link")
	if lines := s.End(); code != 0 || !slices.Equal(lines, []string{""}) {
		t.Errorf("after a link with code %d the terminal shows %q", code, lines)
	}

	// The bytes are the same without; and an error begins its own line.
	s = screen.New(t, 60)
	wait := func() { time.Sleep(1300 * time.Millisecond) }
	if code, quiet := slowLink(t, s, wait, "link", "-q"); code != 0 || !bytes.Equal(quiet, shown) {
		t.Errorf("--quiet: code %d, %d bytes; without it %d bytes", code, len(quiet), len(shown))
	}
	s.End()
	if got := s.Written(); got != "END" {
		t.Errorf("--quiet wrote to the terminal: %q", got)
	}
	s = screen.New(t, 200)
	code, _ = slowLink(t, s, wait, "link", "/nonexistent")
	if lines := s.End(); code != 1 || len(lines) != 2 ||
		lines[0] != "btfdedup: open /nonexistent: no such file or directory" {
		t.Errorf("after an error with code %d the terminal shows %q", code, lines)
	}
}

// TestMergeStats is of merge and link, whose types are those of several files.
func TestMergeStats(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	rawBTF(t, p("a.btf"), "s", 4)
	rawBTF(t, p("b.btf"), "s", 8)
	rawBTF(t, p("c.btf"), "other", 4)
	for _, verb := range []string{"merge", "link"} {
		args := []string{verb, "-o", p(verb), p("a.btf"), p("b.btf"), p("c.btf")}
		if code, _, stderr := btfdedup(append(args, "-v")...); code != 0 || stderr == "" {
			t.Fatalf("%s -v: code %d: %s", verb, code, stderr)
		}
		first, err := os.ReadFile(p(verb))
		if err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := btfdedup(append(args, "--stats=-")...)
		if code != 0 || stderr != "" {
			t.Fatalf("%s: code %d: %s", verb, code, stderr)
		}
		second, err := os.ReadFile(p(verb))
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s: the output is another with --stats (%v)", verb, err)
		}
		var s report.Stats
		if err := json.Unmarshal([]byte(stdout), &s); err != nil {
			t.Fatalf("%s: %v in %s", verb, err, stdout)
		}
		blob, err := btf.ReadOne(p(verb), nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.Input.Files != 3 || s.Types.Total != len(blob.Types) || s.Types.Kinds["STRUCT"] != 3 ||
			s.Output.Bytes != int64(len(second)) {
			t.Errorf("%s: %d types were written; statistics: %s", verb, len(blob.Types), stdout)
		}
		// Three units of int and a struct each.
		if h := s.Shapes; h.Units != 3 || h.Held != 6 || h.Roots != 4 || h.Repeats != 2 {
			t.Errorf("%s: shapes %+v", verb, *h)
		}
		if verb == "link" && (*s.Conflicts != 1 || s.Functions.Encoded != 0) {
			t.Errorf("link: %s", stdout)
		}
	}
}
