// Command profileshares says where the time of a conversion goes: it sums the samples of a
// processor profile by what the code is for, and prints a Markdown table.
//
//	profileshares cpu.prof
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/google/pprof/profile"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: profileshares PROFILE")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "profileshares:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	times, all := sum(p)
	if all == 0 {
		return fmt.Errorf("%s: no samples", path)
	}
	fmt.Fprintln(w, "| | share |\n|---|--:|")
	for g, name := range groups {
		fmt.Fprintf(w, "| %s | %.0f%% |\n", name, 100*float64(times[g])/float64(all))
	}
	return nil
}

// sum adds up the samples' values of the last type, processor time, by group.
func sum(p *profile.Profile) (times [len(groups)]int64, all int64) {
	for _, s := range p.Sample {
		v := s.Value[len(s.Value)-1]
		times[groupOf(stack(s))] += v
		all += v
	}
	return times, all
}

// stack lists a sample's frames, callees first, inlined ones too.
func stack(s *profile.Sample) (list []frame) {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if line.Function != nil {
				list = append(list, frame{line.Function.Name, line.Function.Filename})
			}
		}
	}
	return list
}
