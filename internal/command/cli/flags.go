package cli

import (
	"cmp"
	"runtime"
	"slices"

	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/internal/model/features"
)

// Common is a set of the flags that several verbs share. Every verb has -j besides.
type Common uint

const (
	Output        Common = 1 << iota // -o: the file to write
	OutputDir                        // -o: the directory to write, in place of Output
	Base                             // --base: the BTF that split BTF is based on
	Features                         // --features: what to encode
	Skipped                          // --skipped: the list of what is not encoded
	DistilledBase                    // --distilled-base: a base for other builds of the kernel
	Report                           // -q, -v, --stats: what the run tells about itself
	Printed                          // -o as in Output, but without it standard output is written
)

// Flags are the values of the common flags.
type Flags struct {
	Output        string
	Jobs          int      // how many threads may work at the same time, at least 1
	Bases         []string // the deepest first
	Features      features.Set
	Skipped       string // "" if no list is wanted, like the next
	DistilledBase string
	Quiet         bool // no warnings
	Verbose       bool
	Stats         string
}

// newFlagSet makes the flags of a verb: the common ones, and its own.
func (v *Verb) newFlagSet(values *Flags) (*FlagSet, Run) {
	f := &FlagSet{FlagSet: pflag.NewFlagSet(v.Name, pflag.ContinueOnError)}
	f.Usage = func() {}
	defined := false
	f.SetNormalizeFunc(func(fs *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(v.normal(fs, name, defined))
	})
	f.common(v.Flags, values)
	f.BoolP("help", "h", false, "print this text")
	run := v.Setup(f)
	defined = true
	return f, run
}

// NewFlags makes the flags of a verb, for texts about them.
func (v *Verb) NewFlags() *pflag.FlagSet {
	f, _ := v.newFlagSet(new(Flags))
	return f.FlagSet
}

// common defines the common flags.
func (f *FlagSet) common(takes Common, values *Flags) {
	f.NumberVarP(&values.Jobs, "jobs", "j", 1, maxJobs, "threads",
		"how many `threads` may work at the same time; without it, one for each processor. The result"+
			" doesn't depend on it")
	if takes&Output != 0 {
		f.StringVarP(&values.Output, "output", "o", "", "the `FILE` to write; - means standard output")
		f.outputs = append(f.outputs, fileFlag{"-o", &values.Output})
	}
	if takes&OutputDir != 0 {
		f.StringVarP(&values.Output, "output", "o", "", "the directory to write: `OUT`")
		f.outputs = append(f.outputs, fileFlag{"-o", &values.Output})
		f.outputDirs = append(f.outputDirs, fileFlag{"-o", &values.Output})
	}
	if takes&Printed != 0 {
		f.StringVarP(&values.Output, "output", "o", "-",
			"the `FILE` to write; - means standard output")
		f.outputs = append(f.outputs, fileFlag{"-o", &values.Output})
	}
	if takes&Base != 0 {
		f.InputsVar(&values.Bases, "base",
			"a base of split BTF: `FILE`; repeat it for a chain, the deepest first")
	}
	if takes&Features != 0 {
		values.Features = features.Default()
		f.Var((*featureList)(&values.Features), "features",
			"comma-separated `names` of features, as in pahole's --btf_features: default, all or none,"+
				" NAME or +NAME, -NAME; docs/features.md has what each does")
		f.Lookup("features").DefValue = "default"
	}
	if takes&DistilledBase != 0 {
		f.OutputVar(&values.DistilledBase, "distilled-base",
			"the distilled base to write, on which the BTF is based then: `FILE`")
	}
	if takes&Skipped != 0 {
		f.OutputVar(&values.Skipped, "skipped", "list what is not encoded in `FILE`")
	}
	if takes&Report != 0 {
		f.BoolVarP(&values.Quiet, "quiet", "q", false, "no warnings and no progress line, errors only")
		f.BoolVarP(&values.Verbose, "verbose", "v", false,
			"a line on standard error for each phase: what it found and how long it took")
		f.OutputVar(&values.Stats, "stats",
			"write counts, times and memory as JSON to `FILE`; - means standard output")
	}
}

// check checks the values of the common flags, and which files are read and written. args are the
// files that the command line names without a flag.
func (f *FlagSet) check(takes Common, values *Flags, args []string) error {
	switch {
	case takes&(Output|OutputDir) != 0 && values.Output == "":
		return Usagef("-o OUT is missing")
	case takes&Printed != 0 && values.Output == "":
		return Usagef("-o is empty; name a file")
	case values.Quiet && values.Verbose:
		return Usagef("--quiet and --verbose contradict each other")
	case values.DistilledBase != "" && len(values.Bases) == 0:
		return Usagef("--distilled-base=%s without --base: what stands alone has no base",
			values.DistilledBase)
	}
	for _, dir := range f.outputDirs {
		if *dir.path == "-" {
			return Usagef("%s: standard output (-) is no directory; name one", dir.flag)
		}
	}
	if err := cmp.Or(f.checkEmpty(), f.checkFollow()); err != nil {
		return err
	}
	inputs := slices.Clone(args)
	for _, in := range f.inputs {
		if *in.path != "" {
			inputs = append(inputs, *in.path)
		}
	}
	for _, list := range slices.Concat(f.inputLists, f.follow) {
		inputs = append(inputs, *list.paths...)
	}
	for i, out := range f.outputs {
		if err := out.check(f.outputs[:i], inputs); err != nil {
			return err
		}
	}
	return nil
}

// LimitThreads makes Jobs a promise: the Go runtime, garbage collection included, runs no more
// threads than that at the same time. The result undoes it. In a worker, where others run too, it
// is a promise of the verb alone.
func (e *Env) LimitThreads() (undo func()) {
	f, all := &e.Flags, runtime.GOMAXPROCS(0)
	if f.Jobs == 0 {
		f.Jobs = all
	}
	if f.Jobs >= all || e.Worker {
		return func() {}
	}
	runtime.GOMAXPROCS(f.Jobs)
	return func() { runtime.GOMAXPROCS(all) }
}

const maxJobs = 1024
