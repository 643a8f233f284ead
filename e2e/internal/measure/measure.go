// Package measure runs commands one after another and measures what they use: wall time, processor
// time and peak resident memory.
package measure

import (
	"bytes"
	"fmt"
	"os/exec"
	"sort"
	"strings"
	"syscall"
	"time"
)

// Command is one contender of a comparison.
type Command struct {
	Name string
	Argv []string
}

// Run has what one run of a command used.
type Run struct {
	Wall time.Duration
	CPU  time.Duration // user and system, all threads
	Peak int64         // largest resident set, in bytes
	// Others is the processor time that everything else on the machine used meanwhile.
	Others time.Duration
}

// Series is all runs of one command.
type Series struct {
	Command Command
	Runs    []Run
}

// Once runs c and fails if c does.
func Once(c Command) (Run, error) {
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	r, err := Of(cmd)
	if err != nil {
		return Run{}, fmt.Errorf("%s: %w: %s", strings.Join(c.Argv, " "), err, firstLine(stderr.String()))
	}
	return r, nil
}

// Of runs cmd and fails if cmd does.
func Of(cmd *exec.Cmd) (Run, error) {
	before, start := busy(), time.Now()
	err := cmd.Run()
	wall, all := time.Since(start), busy()-before
	if err != nil {
		return Run{}, err
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return Run{Wall: wall, CPU: cpu, Peak: usage.Maxrss * 1024, Others: max(0, all-cpu)}, nil
}

// Alternate runs each command once without measuring, so that their input is in the page cache.
// Then it runs all of them in turn, runs times, so that a disturbance of the machine affects all of
// them. It calls between before each run. It repeats runs that other processes disturbed, as long
// as patience allows.
func Alternate(
	runs int, commands []Command, between func() error, patience *Patience,
) ([]Series, error) {
	series := make([]Series, len(commands))
	for i, c := range commands {
		series[i].Command = c
	}
	for n := -1; n < runs; n++ {
		for i := range series {
			var r Run
			for repeat := true; repeat; repeat = n >= 0 && r.Disturbed() && patience.again(r) {
				err := between()
				if err == nil {
					r, err = Once(series[i].Command)
				}
				if err != nil {
					return nil, err
				}
			}
			if n >= 0 {
				series[i].Runs = append(series[i].Runs, r)
			}
		}
	}
	return series, nil
}

// Wall returns the median, smallest and largest wall time.
func (s Series) Wall() (median, least, most time.Duration) {
	v := make([]time.Duration, 0, len(s.Runs))
	for _, r := range s.Runs {
		v = append(v, r.Wall)
	}
	sort.Slice(v, func(i, j int) bool { return v[i] < v[j] })
	return Median(v), v[0], v[len(v)-1]
}

// CPU returns the median processor time.
func (s Series) CPU() time.Duration {
	v := make([]time.Duration, 0, len(s.Runs))
	for _, r := range s.Runs {
		v = append(v, r.CPU)
	}
	sort.Slice(v, func(i, j int) bool { return v[i] < v[j] })
	return Median(v)
}

// Peak returns the largest resident set of all runs, in bytes.
func (s Series) Peak() int64 {
	var most int64
	for _, r := range s.Runs {
		most = max(most, r.Peak)
	}
	return most
}

// Disturbed returns how many runs were disturbed by others.
func (s Series) Disturbed() int {
	n := 0
	for _, r := range s.Runs {
		if r.Disturbed() {
			n++
		}
	}
	return n
}

// Sum returns what two commands, of as many runs each, use one after the other: the sums of their
// times, and the larger of their memory peaks.
func Sum(name string, a, b Series) Series {
	s := Series{Command: Command{Name: name}}
	for i, r := range a.Runs {
		q := b.Runs[i]
		s.Runs = append(s.Runs, Run{Wall: r.Wall + q.Wall, CPU: r.CPU + q.CPU, Peak: max(r.Peak, q.Peak),
			Others: r.Others + q.Others})
	}
	return s
}

// Median returns the median of a sorted list that is not empty: the mean of the two middle values
// if their number is even.
func Median(sorted []time.Duration) time.Duration {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
