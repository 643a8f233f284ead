package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// someFacts are the facts of a file without symbols.
const someFacts = "btffacts 4\nmachine 0 64 little\nsymfiles no\n" +
	"variables none\nkfuncs off\nglobal\nend\n"

// slowLink links a file on a terminal. The facts come through a pipe, and only after ready has
// returned.
func slowLink(t *testing.T, tty *os.File, ready func(), args ...string) (code int,
	result []byte) {
	t.Helper()
	dir := t.TempDir()
	in, pipe, out := filepath.Join(dir, "in.btf"), filepath.Join(dir, "facts"), filepath.Join(dir,
		"out.btf")
	rawBTF(t, in, "s", 4)
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("SKIPPED: no named pipe here: %v", err)
	}
	go func() {
		defer os.WriteFile(pipe, []byte(someFacts), 0) // even if ready ends the test
		ready()
	}()
	code = cli.Execute(program, append(args, "-o", out, "--facts", pipe, in), nil,
		new(bytes.Buffer), tty)
	result, err := os.ReadFile(out)
	if err != nil && code == 0 {
		t.Fatal(err)
	}
	return code, result
}

// terminal is a pseudo-terminal, and what has been written to it.
type terminal struct {
	tty  *os.File
	mu   sync.Mutex
	text []byte
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	keyboard, tty, err := pty.Open()
	if err != nil {
		t.Skipf("SKIPPED: no pseudo-terminal here: %v", err)
	}
	t.Cleanup(func() { tty.Close(); keyboard.Close() })
	t.Setenv("TERM", "xterm")
	s := &terminal{tty: tty}
	go io.Copy(s, keyboard)
	return s
}

func (s *terminal) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, p...)
	return len(p), nil
}

// waitFor waits until the pattern re matches the text on the terminal. It returns all of the text.
func (s *terminal) waitFor(t *testing.T, re string) string {
	t.Helper()
	for range 1000 {
		s.mu.Lock()
		text := string(s.text)
		s.mu.Unlock()
		if regexp.MustCompile(re).MatchString(text) {
			return text
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no %s on the terminal within 10 s, only %q", re, s.text)
	return ""
}

func TestProgressOnTerminal(t *testing.T) {
	s := newTerminal(t)
	code, shown := slowLink(t, s.tty, func() {
		s.waitFor(t, `\rbtfdedup link: facts, [1-9]\d*\.\d s\x1b\[K`)
	}, "link")
	if s.waitFor(t, `\r\x1b\[K$`); code != 0 { // it is erased
		t.Errorf("a link ended with code %d", code)
	}

	// Without the progress line, the result has the same bytes. An error message begins on a new
	// line.
	s = newTerminal(t)
	wait := func() { time.Sleep(1300 * time.Millisecond) }
	if code, quiet := slowLink(t, s.tty, wait, "link", "-q"); code != 0 || !bytes.Equal(quiet, shown) {
		t.Errorf("--quiet: code %d, %d bytes; without it %d bytes", code, len(quiet), len(shown))
	}
	s.tty.WriteString("END")
	if got := s.waitFor(t, "END"); got != "END" {
		t.Errorf("--quiet wrote to the terminal: %q", got)
	}
	s = newTerminal(t)
	if code, _ = slowLink(t, s.tty, wait, "link", "/nonexistent"); code != 1 {
		t.Errorf("a link without an input ended with code %d", code)
	}
	s.waitFor(t, `(^|\x1b\[K)btfdedup: open /nonexistent: no such file or directory\r\n`)
}

// TestMergeVerbose checks what -v prints about merge and link, which read the types of several
// files. There are three units, each with int and a struct.
func TestMergeVerbose(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	rawBTF(t, p("a.btf"), "s", 4)
	rawBTF(t, p("b.btf"), "s", 8)
	rawBTF(t, p("c.btf"), "other", 4)
	for _, verb := range []string{"merge", "link"} {
		code, stdout, stderr := btfdedup(verb, "-v", "-o", p(verb), p("a.btf"), p("b.btf"), p("c.btf"))
		if code != 0 || stdout != "" {
			t.Fatalf("%s -v: code %d: %s", verb, code, stderr)
		}
		blob := must.Get(btf.ReadOne(p(verb), nil))(t)
		want := []string{"3 files, 4 shapes, 2 repeats", fmt.Sprintf("%d types", len(blob.Types))}
		if verb == "link" {
			want = append(want, ", 1 conflict, 0 functions, 0 variables")
		}
		for _, text := range want {
			if strings.Count(stderr, text) != 1 {
				t.Errorf("%s: no %q in %s", verb, text, stderr)
			}
		}
	}
}
