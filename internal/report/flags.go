// Package report is what a run of a command tells of itself: a progress line on a terminal, a line
// a phase with --verbose, nothing but errors with --quiet, and statistics as JSON with --stats
// (docs/stats.md).
//
// Nothing of it reaches the command's output.
package report

import (
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/internal/cli"
)

// Flags are --quiet, --verbose and --stats. The zero value is none of them.
type Flags struct {
	quiet, verbose bool
	stats          string
}

// DefineFlags defines the flags.
func DefineFlags(flags *pflag.FlagSet) *Flags {
	f := new(Flags)
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no warnings and no progress line, errors only")
	flags.BoolVarP(&f.verbose, "verbose", "v", false,
		"a line on standard error for each phase: what it met and how long it took")
	flags.StringVar(&f.stats, "stats", "",
		"write counts, times and memory as JSON to `FILE`; - means standard output")
	return f
}

// Job is what a run is about.
type Job struct {
	Verb    string
	Threads int      // that may work at once
	Inputs  []string // the files that the statistics count as input
	Others  []string // other files that are read; empty names mean none
	Outputs []string // likewise
}

// check refuses flags that contradict each other, and statistics in a file that is an input or
// another output.
func (f *Flags) check(job *Job) error {
	if f.quiet && f.verbose {
		return cli.Usagef("%s: --quiet and --verbose contradict each other", job.Verb)
	}
	if f.stats == "" {
		return nil
	}
	for _, out := range job.Outputs {
		if out != "" && filepath.Clean(out) == filepath.Clean(f.stats) {
			return cli.Usagef("%s: --stats=%s: another output goes there already", job.Verb, f.stats)
		}
	}
	return cli.CheckOutput(f.stats, slices.Concat(job.Inputs, job.Others, job.Outputs)...)
}
