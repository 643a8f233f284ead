// Command bench runs commands alternately, and prints a Markdown table: the median, least and most
// wall time, the median processor time, the peak memory, and the ratios of the median wall time and
// peak memory to those of the first command. e2e/bench/run uses it.
//
//	bench RUNS HEADING {NAME COMMAND}…
//
// COMMAND is a shell command line. The first run of each command isn't counted; it only brings the
// input into the page cache. The commands alternate so that a disturbance of the machine affects
// all of them.
package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"github.com/rules-btf/rules_btf/e2e/internal/measure"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench: ")
	args := os.Args[1:]
	if len(args) < 4 || len(args)%2 != 0 {
		log.Fatal("usage: bench RUNS HEADING {NAME COMMAND}…")
	}
	runs, err := strconv.Atoi(args[0])
	if err != nil || runs < 1 {
		log.Fatalf("RUNS is %s, but must be a number from 1 up", args[0])
	}
	fmt.Printf("\n### %s\n\n", args[1])
	fmt.Println("| command | wall: median | least | most | user + sys | peak memory " +
		"| wall, relative | memory, relative |\n|---|--:|--:|--:|--:|--:|--:|--:|")
	commands := slices.Collect(slices.Chunk(args[2:], 2))
	used := make([][]measure.Run, len(commands))
	for n := range 1 + runs {
		for i, c := range commands {
			cmd := exec.Command("sh", "-ec", c[1])
			cmd.Stderr = os.Stderr
			r, err := measure.Of(cmd)
			if err != nil {
				log.Fatalf("%s: %v", c[1], err)
			}
			if n > 0 {
				used[i] = append(used[i], r)
			}
		}
	}
	first := summary(used[0])
	for i, c := range commands {
		s := summary(used[i])
		fmt.Printf("| %s | %s | %s | %s | %s | %d MB | %s | %s |\n", c[0], s.wall, s.least, s.most,
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
