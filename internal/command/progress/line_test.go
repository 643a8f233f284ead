package progress

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestLine(t *testing.T) {
	s := newScreen(t, 40)
	var calls atomic.Int64
	start := time.Now()
	l := Start(s.TTY, func() string {
		n := calls.Add(1)
		return fmt.Sprintf("%d of 1000, %s", n, strings.Repeat("x", 10*int(1+n%4)))
	})
	time.Sleep(time.Second / 2)
	if got := s.Written(); got != "" {
		t.Errorf("after half a second the terminal has %q", got)
	}
	got := s.WaitFor(`\b3 of 1000`)
	if d := time.Since(start); d < time.Second {
		t.Errorf("the line was there after %v", d)
	}
	if lines := s.Lines(got); len(lines) != 1 || strings.Count(lines[0], " of 1000") != 1 {
		t.Errorf("the line isn't redrawn in place: %q", lines)
	}

	if _, err := io.WriteString(l, "a warning\n"); err != nil {
		t.Fatal(err)
	}
	got = s.WaitFor(`a warning\r\n\r\d+ of 1000`)
	if lines := s.Lines(got); len(lines) != 2 || lines[0] != "a warning" ||
		!strings.Contains(lines[1], " of 1000") {
		t.Errorf("with a warning the terminal shows %q", lines)
	}

	time.Sleep(5 * interval)
	l.Close()
	n, elapsed := calls.Load(), time.Since(start)
	if most := 10*int64(elapsed-time.Second)/int64(time.Second) + 2; n > most {
		t.Errorf("%d drawings in %v; expected at most %d", n, elapsed, most)
	}
	if lines := s.End(); !slices.Equal(lines, []string{"a warning", ""}) {
		t.Errorf("after the end the terminal shows %q", lines)
	}
	if calls.Load() != n {
		t.Error("the line was drawn after Close")
	}
}

func TestShortWorkShowsNothing(t *testing.T) {
	s := newScreen(t, 80)
	l := Start(s.TTY, func() string { return "working" })
	time.Sleep(time.Second * 3 / 4)
	l.Close()
	s.End()
	if got := s.Written(); got != "END" {
		t.Errorf("the terminal has %q", got)
	}
}

func TestNarrowTerminal(t *testing.T) {
	s := newScreen(t, 5)
	l := Start(s.TTY, func() string { return "working hard" })
	time.Sleep(delay + 2*interval)
	l.Close()
	s.End()
	if got := s.Written(); got != "END" {
		t.Errorf("the terminal has %q", got)
	}
}

// TestInterrupted draws a line on a terminal of unknown width, and abandons it, as happens after a
// signal.
func TestInterrupted(t *testing.T) {
	s := newScreen(t, 0)
	l := Start(s.TTY, func() string { return strings.Repeat("x", 200) })
	if got := s.WaitFor("x\x1b"); strings.Count(got, "x") >= someWidth {
		t.Errorf("the line is too long: %q", got)
	}
	l.Abandon()
	time.Sleep(2 * interval)
	lines := s.End()
	l.Close()
	if !slices.Equal(lines, []string{""}) {
		t.Errorf("the terminal shows %q", lines)
	}
}

func TestNoTerminal(t *testing.T) {
	text := func() string { return "working" }
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	s := newScreen(t, 80)
	if Start(w, text) != nil {
		t.Error("a line on a pipe")
	}
	if Start(new(bytes.Buffer), text) != nil {
		t.Error("a line on a buffer")
	}
	for _, name := range []string{"dumb", ""} {
		t.Setenv("TERM", name)
		if Start(s.TTY, text) != nil {
			t.Errorf("a line on a terminal with TERM=%q", name)
		}
	}
	var none *Line
	none.Close()
	none.Abandon()
}
