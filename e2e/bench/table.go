package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/measure"
)

// command is a shell command line, and its name in a table.
type command struct{ name, line string }

// run runs the command once. First, it removes the output of the last run, which the environment
// variable OUT names, as Bazel does before an action. To replace a file, ext4 takes milliseconds.
func (c *command) run() measure.Run {
	if out := os.Getenv("OUT"); out != "" {
		if err := os.RemoveAll(out); err != nil {
			log.Fatal(err)
		}
	}
	cmd := exec.Command("sh", "-ec", c.line)
	cmd.Stderr = os.Stderr
	r, err := measure.Of(cmd)
	if err != nil {
		log.Fatalf("%s: %v", c.line, err)
	}
	return r
}

// alternate runs the commands alternately, this many times, so that a disturbance of the machine
// affects all of them. The first run of each isn't counted; it only brings the input into the page
// cache. The function after is called after each run that counts.
func alternate(runs int, commands []command, after func(i int, r measure.Run)) {
	for n := range 1 + runs {
		for i := range commands {
			if r := commands[i].run(); n > 0 {
				after(i, r)
			}
		}
	}
}

// table prints the time and memory that commands need, and the ratios to those of the first.
func table(runs int, commands []command) {
	used := make([][]measure.Run, len(commands))
	alternate(runs, commands, func(i int, r measure.Run) { used[i] = append(used[i], r) })
	fmt.Println("| command | wall: median | least | most | user + sys | peak memory " +
		"| wall, relative | memory, relative |\n|---|--:|--:|--:|--:|--:|--:|--:|")
	first := summary(used[0])
	for i, c := range commands {
		s := summary(used[i])
		fmt.Printf("| %s | %s | %s | %s | %s | %d MB | %s | %s |\n", c.name, s.wall, s.least, s.most,
			s.cpu, s.peak>>20, part(float64(s.wall)/float64(first.wall)),
			part(float64(s.peak)/float64(first.peak)))
	}
}

// usage sums up the time and memory that all runs of a command used.
type usage struct {
	wall, least, most, cpu duration
	peak                   int64
}

func summary(runs []measure.Run) (s usage) {
	var wall, cpu []duration
	for _, r := range runs {
		wall, cpu = append(wall, duration(r.Wall)), append(cpu, duration(r.CPU))
		s.peak = max(s.peak, r.Peak)
	}
	s.wall, s.least, s.most, s.cpu = median(wall), slices.Min(wall), slices.Max(wall), median(cpu)
	return s
}

// median sorts list in place, and returns its middle value or the mean of its two middle values.
func median(list []duration) duration {
	slices.Sort(list)
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

// duration is a time that is printed with three significant digits.
type duration time.Duration

func (d duration) String() string {
	if s := time.Duration(d).Seconds(); s >= 1 {
		return fmt.Sprintf("%.3g s", s)
	}
	return fmt.Sprintf("%.3g ms", time.Duration(d).Seconds()*1000)
}

// part formats a ratio; a ratio below 0.95 is printed as 1/N.
func part(v float64) string {
	if v < 0.95 {
		return fmt.Sprintf("1/%.1f", 1/v)
	}
	return fmt.Sprintf("%.1f", v)
}
