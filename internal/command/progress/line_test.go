package progress

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// drawn starts a line, and calls f with a function that lets time pass and checks how many times
// the line was drawn by then. It closes the line.
func drawn(t *testing.T, s *screen, text func(n int) string,
	f func(l *Line, after func(d time.Duration, drawings int))) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		l := Start(s.TTY, func() string {
			calls++
			return text(calls)
		})
		after := func(d time.Duration, drawings int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if calls != drawings {
				t.Errorf("%d drawings, want %d", calls, drawings)
			}
		}
		f(l, after)
		l.Close()
		after(3*interval, calls)
	})
}

func TestLine(t *testing.T) {
	s := newScreen(t, 40)
	drawn(t, s, func(n int) string {
		return fmt.Sprintf("%d of 1000, %s", n, strings.Repeat("x", 10*(1+n%4)))
	}, func(l *Line, after func(time.Duration, int)) {
		after(delay-1, 0)
		after(1+2*interval, 3)
		must.Get(io.WriteString(l, "a warning\n"))(t)
		after(5*interval, 8)
	})
	if lines := s.End(); !slices.Equal(lines, []string{"a warning", ""}) {
		t.Errorf("after the end the terminal shows %q", lines)
	}
	const erased = startLine + clearRest
	text := s.Written()
	before, _, _ := strings.Cut(text, erased+"a warning")
	if lines := s.Lines(before); len(lines) != 1 || strings.Count(lines[0], "3 of 1000") != 1 {
		t.Errorf("the line isn't redrawn in place: %q", lines)
	}
	lines := s.Lines(text[:strings.LastIndex(text, erased)])
	if len(lines) != 2 || lines[0] != "a warning" || !strings.HasPrefix(lines[1], "8 of 1000") {
		t.Errorf("with a warning the terminal shows %q", lines)
	}
}

// TestNothing: short work shows no line, and a narrow terminal none at all.
func TestNothing(t *testing.T) {
	for _, c := range []struct {
		width    int
		end      time.Duration
		drawings int
	}{{80, delay - 1, 0}, {5, delay + 2*interval, 3}} {
		s := newScreen(t, c.width)
		drawn(t, s, func(int) string { return "working hard" },
			func(_ *Line, after func(time.Duration, int)) { after(c.end, c.drawings) })
		s.End()
		if got := s.Written(); got != "END" {
			t.Errorf("the terminal of %d columns has %q", c.width, got)
		}
	}
}

// TestInterrupted draws a line on a terminal of unknown width, and abandons it, as happens after a
// signal.
func TestInterrupted(t *testing.T) {
	s := newScreen(t, 0)
	drawn(t, s, func(int) string { return strings.Repeat("x", 200) },
		func(l *Line, after func(time.Duration, int)) {
			after(delay, 1)
			l.Abandon()
			after(2*interval, 3)
		})
	if lines := s.End(); !slices.Equal(lines, []string{""}) {
		t.Errorf("the terminal shows %q", lines)
	}
	if n := strings.Count(s.Written(), "x"); n != someWidth-1 {
		t.Errorf("%d characters were drawn, want those of one line", n)
	}
}

func TestNoTerminal(t *testing.T) {
	text := func() string { return "working" }
	r, w := must.Get2(os.Pipe())(t)
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
