package cli

import (
	"runtime"
	"slices"

	"github.com/rules-btf/rules_btf/internal/model/features"
)

// Common is a set of flags that several commands share. It omits -j and -q, which every command
// has.
type Common uint

const (
	Output        Common = 1 << iota // -o: the file to write
	OutputDir                        // -o: the directory to write, in place of Output
	Base                             // --base: the BTF that split BTF is based on
	Features                         // --features: what to encode
	Skipped                          // --skipped: the list of what is not encoded
	DistilledBase                    // --distilled-base: a base for other builds of the kernel
	Report                           // -v: progress
	Printed                          // -o: like Output, but the default is standard output
)

// Flags are the values of the common flags.
type Flags struct {
	Output        string
	Jobs          int      // how many threads may work at the same time, at least 1
	Bases         []string // the kernel's BTF first
	Features      features.Set
	Skipped       string // "" if no list is wanted
	DistilledBase string // "" if none is wanted
	Quiet         bool   // no warnings
	Verbose       bool
}

func (f *FlagSet) common() {
	takes, values := f.takes, &f.values
	f.NumberVarP(&values.Jobs, "jobs", "j", 1, maxJobs, "threads",
		"the number of `threads`; the default is one per processor. It doesn't affect the result")
	f.BoolVarP(&values.Quiet, "quiet", "q", false, "print errors only: no warnings, no progress line")
	if takes&Output != 0 {
		f.output("write to `FILE`; - means standard output")
		f.MarkRequired("output")
	}
	if takes&OutputDir != 0 {
		f.output("write to the directory `OUT`")
		f.MarkRequired("output")
		f.outputDirs = append(f.outputDirs, fileFlag{"-o", &values.Output})
	}
	if takes&Printed != 0 {
		values.Output = "-"
		f.output("write to `FILE`; - means standard output")
	}
	if takes&Base != 0 {
		f.InputsVar(&values.Bases, "base",
			"the BTF `FILE` on which split BTF is based; repeat the flag for a chain, "+
				"the kernel's BTF first")
	}
	if takes&Features != 0 {
		values.Features = features.Default()
		f.Var((*featureList)(&values.Features), "features",
			"comma-separated `names` of features, like pahole's --btf_features: default, all, none,"+
				" NAME, +NAME (add to the default) or -NAME (remove); see docs/features.md")
		f.Lookup("features").DefValue = "default"
	}
	if takes&DistilledBase != 0 {
		f.OutputVar(&values.DistilledBase, "distilled-base",
			"also write a distilled base to `FILE`, and base the BTF on it")
	}
	if takes&Skipped != 0 {
		f.OutputVar(&values.Skipped, "skipped", "write a list of what is not encoded to `FILE`")
	}
	if takes&Report != 0 {
		f.BoolVarP(&values.Verbose, "verbose", "v", false,
			"print a line on standard error for each phase, with its results and its time")
	}
}

// check checks the common flags and all files, including the arguments in args.
func (f *FlagSet) check(args []string) error {
	values := &f.values
	switch {
	case values.Quiet && values.Verbose:
		return Usagef("--quiet and --verbose can't be used together")
	case values.DistilledBase != "" && len(values.Bases) == 0:
		return Usagef("--distilled-base requires --base")
	}
	for _, dir := range f.outputDirs {
		if *dir.path == "-" {
			return Usagef("%s: standard output (-) is not a directory; specify a directory", dir.flag)
		}
	}
	if err := f.checkDebugFiles(); err != nil {
		return err
	}
	inputs := slices.Clone(args)
	for _, in := range f.inputs {
		if *in.path != "" {
			inputs = append(inputs, *in.path)
		}
	}
	for _, list := range f.inputLists {
		if slices.Contains(*list.paths, "") {
			return Usagef("%s is empty; specify a file", list.flag)
		}
	}
	for _, list := range slices.Concat(f.inputLists, f.debugFiles) {
		inputs = append(inputs, *list.paths...)
	}
	for i, out := range f.outputs {
		if err := out.check(f.outputs[:i], inputs); err != nil {
			return err
		}
	}
	return nil
}

// LimitThreads limits the Go runtime, including GC, to Jobs threads until undo is called.
// Rule: -j. The threads of the Go runtime.
func (e *Env) LimitThreads() (undo func()) {
	f, all := &e.Flags, runtime.GOMAXPROCS(0)
	if f.Jobs == 0 {
		f.Jobs = all
	}
	if f.Jobs >= all {
		return func() {}
	}
	runtime.GOMAXPROCS(f.Jobs)
	return func() { runtime.GOMAXPROCS(all) }
}

const maxJobs = 1024
