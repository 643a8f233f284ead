// Package progress shows the progress of long work on a terminal: one line, redrawn in place and
// erased at the end.
//
// It shows nothing for work that takes less than a second, or if standard error is not a terminal
// that can erase a line (TERM=dumb, or no TERM at all, means that it can't).
package progress

import (
	"cmp"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	delay     = time.Second            // before the line appears
	interval  = 100 * time.Millisecond // between two redraws of the line
	someWidth = 80                     // columns of a terminal whose width is unknown
	leastText = 10                     // on terminals with at most this many columns, nothing is drawn
	startLine = "\r"
	clearRest = "\x1b[K" // EL of ECMA-48: erase to the end of the line
)

// Line is a progress line. All other output to the terminal must go through the method Write.
// Several threads may call the methods of a Line. A nil Line does nothing.
type Line struct {
	terminal *os.File
	text     func() string
	done     chan struct{}
	drawing  sync.WaitGroup

	mu        sync.Mutex
	shown     bool
	abandoned bool
}

// Start returns a line on w, or nil if w is not a terminal. Another goroutine calls text, which
// returns the line's text in ASCII, or "" for no line. Close ends the line.
func Start(w io.Writer, text func() string) *Line {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	if name := os.Getenv("TERM"); name == "" || name == "dumb" {
		return nil
	}
	l := &Line{terminal: f, text: text, done: make(chan struct{})}
	l.drawing.Go(l.run)
	return l
}

// columns returns the width of the terminal to which w writes, or 0 if w is not a terminal.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

func (l *Line) run() {
	wait := time.NewTimer(delay)
	defer wait.Stop()
	for {
		select {
		case <-l.done:
			return
		case <-wait.C:
			l.draw()
			wait.Reset(interval)
		}
	}
}

// draw writes the line in a single write, so that the terminal doesn't flicker. The last column
// stays free: a character there makes some terminals go to the next line.
func (l *Line) draw() {
	width := cmp.Or(columns(l.terminal), someWidth)
	text := l.text()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.abandoned || text == "" || width <= leastText {
		l.erase()
		return
	}
	l.terminal.WriteString(startLine + text[:min(len(text), width-1)] + clearRest)
	l.shown = true
}

// erase removes the line. The caller holds the lock.
func (l *Line) erase() {
	if l.shown {
		l.terminal.WriteString(startLine + clearRest)
		l.shown = false
	}
}

// Write writes p, which must be whole lines, over the progress line, which is redrawn below p.
func (l *Line) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erase()
	return l.terminal.Write(p)
}

// Close erases the line for good.
func (l *Line) Close() {
	if l == nil {
		return
	}
	close(l.done)
	l.drawing.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erase()
}

// Abandon erases the line when a signal is about to end the process. It doesn't wait if a
// write to the terminal blocks.
func (l *Line) Abandon() {
	if l == nil || !l.mu.TryLock() {
		return
	}
	defer l.mu.Unlock()
	l.erase()
	l.abandoned = true
}
