package progress

import (
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// screen is a terminal to test on: a real pseudo-terminal, and what has been written to it.
type screen struct {
	TTY     *os.File // what a program sees
	columns int

	t    testing.TB
	mu   sync.Mutex
	text []byte
}

// newScreen opens a terminal with TERM=xterm. 0 columns mean that the width is unknown.
func newScreen(t testing.TB, columns int) *screen {
	t.Helper()
	keyboard, tty, err := pty.Open()
	if err != nil {
		t.Skipf("SKIPPED: no pseudo-terminal here: %v", err)
	}
	t.Cleanup(func() { tty.Close(); keyboard.Close() })
	must.OK(t, pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: uint16(columns)}))
	t.Setenv("TERM", "xterm")
	s := &screen{TTY: tty, columns: columns, t: t}
	go io.Copy(s, keyboard)
	return s
}

// Write receives what arrives at the other side of the terminal.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, p...)
	return len(p), nil
}

// Written returns all that has arrived so far.
func (s *screen) Written() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text)
}

// WaitFor waits until the pattern re matches what has arrived, and returns all that has arrived.
func (s *screen) WaitFor(re string) string {
	s.t.Helper()
	for range 1000 {
		if got := s.Written(); regexp.MustCompile(re).MatchString(got) {
			return got
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Fatalf("no %s on the terminal within 10 s, only %q", re, s.Written())
	return ""
}

// End writes a mark, waits until the mark has arrived, and returns what is shown before the mark.
func (s *screen) End() []string {
	s.t.Helper()
	const mark = "END"
	must.Get(s.TTY.WriteString(mark))(s.t)
	lines := s.Lines(s.WaitFor(mark))
	last, ok := strings.CutSuffix(lines[len(lines)-1], mark)
	if !ok {
		s.t.Errorf("the terminal shows %q, with something after the cursor", lines)
	}
	lines[len(lines)-1] = last
	return lines
}

// Lines returns what the terminal shows when text is written. It obeys carriage return, newline
// and "erase to the end of the line"; other control characters, and text in the last column, are
// errors.
func (s *screen) Lines(text string) []string {
	s.t.Helper()
	lines, at := []string{""}, 0
	for len(text) > 0 {
		last := &lines[len(lines)-1]
		switch {
		case strings.HasPrefix(text, "\x1b[K"):
			*last = (*last)[:at]
			text = text[3:]
			continue
		case text[0] == '\r':
			at = 0
		case text[0] == '\n':
			lines, at = append(lines, ""), 0
		case text[0] < ' ':
			s.t.Fatalf("control character %#x on the terminal", text[0])
		default:
			if at == s.columns-1 {
				s.t.Fatalf("text in the last of %d columns: %q", s.columns, *last+text[:1])
			}
			*last = (*last)[:at] + text[:1] + (*last)[min(at+1, len(*last)):]
			at++
		}
		text = text[1:]
	}
	return lines
}
