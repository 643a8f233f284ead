// Package report reports on a run of a command: a progress line on a terminal, a line for each
// phase with --verbose, and only errors with --quiet. Some verbs end with a line about what they
// made. If a signal ends the run, a line says how far it got. The package also writes the outputs,
// and counts their types.
//
// None of this changes the command's output.
package report

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/progress"
)

// Run is one run of a verb.
type Run struct {
	env    *cli.Env
	stderr io.Writer // without the progress line
	start  time.Time
	line   *progress.Line

	read, written int64 // bytes of the inputs, and of the outputs so far

	watched watched
	made    string                        // what Finish says that the run made
	sofar   atomic.Pointer[func() string] // see OnInterrupt

	mu   sync.Mutex
	open []*Phase
}

// Start begins a run of env's verb on the input files. The caller must Close the Run. Until then,
// text may be written to env.Stderr without garbling the progress line.
func Start(env *cli.Env, inputs []string) *Run {
	r := &Run{env: env, stderr: env.Stderr, start: time.Now()}
	for _, in := range inputs {
		if info, err := os.Stat(in); err == nil { // else reading it will fail
			r.read += info.Size()
		}
	}
	cli.AtSignal(r.interrupted)
	if env.Quiet {
		return r
	}
	if r.line = progress.Start(env.Stderr, r.progress); r.line != nil {
		env.Stderr = r.line
	} else {
		env.Stderr = &lines{to: env.Stderr}
	}
	return r
}

// lines is a writer that several threads share: it makes them write one at a time.
type lines struct {
	mu sync.Mutex
	to io.Writer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(b)
}

// Close ends the progress line.
func (r *Run) Close() {
	r.line.Close()
	r.env.Stderr = r.stderr
}

// Finish ends a verb: it writes the outputs. Either all of these files appear or none. The first
// output appears last.
func (r *Run) Finish(outputs ...cli.Artifact) error {
	err := r.env.WriteOutputs(counted(outputs, &r.written)...)
	if cli.DiskFull(err) {
		return fmt.Errorf("%w: free some space, then run the same command again", err)
	}
	if err != nil {
		return err
	}
	spent := time.Since(r.start).Seconds()
	if r.env.Verbose {
		r.tell("%s: %s read, %s written, peak memory %s, %.2f s", r.env.Verb, bytesText(r.read),
			bytesText(r.written), bytesText(peakMemory()), spent)
	} else if r.made != "" {
		r.env.Inform("%s: %s, %s written, %.2f s", r.env.Verb, r.made, bytesText(r.written), spent)
	}
	return nil
}

// Made sets what the run made, such as "3 modules". Finish then prints one line about it.
// Rule: progress: the line that says what a verb made.
func (r *Run) Made(what string) { r.made = what }

// OnInterrupt sets a function that says how far a batch got. The function is called if a signal
// ends the process; it must not block.
func (r *Run) OnInterrupt(sofar func() string) { r.sofar.Store(&sofar) }

// interrupted prints what to do after a signal.
func (r *Run) interrupted() {
	r.line.Abandon()
	sofar := "no incomplete file is left"
	if f := r.sofar.Load(); f != nil {
		sofar = (*f)()
	}
	fmt.Fprintf(r.stderr, "%s: interrupted: %s: run the same command again\n", r.env.Program, sofar)
}

// tell prints a line of --verbose.
func (r *Run) tell(format string, args ...any) {
	r.env.Tell(fmt.Sprintf(format, args...))
}

// progress returns the text of the progress line. The text describes the last open phase that has
// counted something; if no phase has, it describes the last open phase.
func (r *Run) progress() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.open) == 0 {
		return ""
	}
	p := r.open[len(r.open)-1]
	for _, q := range r.open {
		if q.all > 0 || p.all == 0 {
			p = q
		}
	}
	now := time.Now()
	return fmt.Sprintf("%s %s: %s, %.1f s", r.env.Program, r.env.Verb, p.progress(now),
		now.Sub(r.start).Seconds())
}

func bytesText(n int64) string {
	switch f := float64(n); {
	case n < 1e3:
		return fmt.Sprintf("%d bytes", n)
	case n < 1e6:
		return fmt.Sprintf("%.1f kB", f/1e3)
	case n < 1e9:
		return fmt.Sprintf("%.1f MB", f/1e6)
	default:
		return fmt.Sprintf("%.2f GB", f/1e9)
	}
}
