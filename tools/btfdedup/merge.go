package main

import (
	"runtime"
	"slices"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/cli"
	"github.com/rules-btf/rules_btf/internal/object"
	"github.com/rules-btf/rules_btf/internal/report"
	"github.com/spf13/pflag"
)

func mergeVerb() cli.Verb {
	return cli.Verb{
		Name:    "merge",
		Summary: "merge BTF objects into one",
		Args:    "FILE...",
		Long: `
Writes the union of BTF objects as one BTF object. The result depends on the set of inputs
only: any order and any tree of merges gives the same bytes. Nothing is decided here; that is
the work of link.

FILE is a BTF object (.btfo) from btfgen object or btfdedup merge, raw BTF, or an ELF file
with a .BTF section, such as an object that gcc -gbtf made. Inputs must be for one target, and
made with the same --features.`,
		Examples: []string{
			"btfdedup merge -o net.btfo net/*.btfo",
			"# the inputs from a file, one a line",
			"btfdedup merge -o all.btfo @inputs.params",
		},
		Setup: func(fs *pflag.FlagSet) cli.Run {
			out := fs.StringP("output", "o", "", "the BTF object to write: `FILE`")
			bases := fs.StringArray("base", nil,
				"a base of split BTF `FILE`s; repeat for a chain, the deepest first")
			reports := report.DefineFlags(fs)
			return func(env *cli.Env, args []string) error {
				if len(args) == 0 {
					return cli.Usagef("merge: no file is given (see btfdedup merge --help)")
				}
				if err := cli.CheckOutput(*out, slices.Concat(args, *bases)...); err != nil {
					return err
				}
				run, err := reports.Start(env, report.Job{Verb: "merge", Threads: runtime.GOMAXPROCS(0),
					Inputs: args,
					Others: *bases, Outputs: []string{*out}})
				if err != nil {
					return err
				}
				defer run.Close()
				return runMerge(run, *out, *bases, args)
			}
		},
	}
}

func runMerge(run *report.Run, out string, bases, files []string) error {
	base, err := btf.ReadBases(bases)
	if err != nil {
		return err
	}
	o, err := readAll(run, files, base)
	if err != nil {
		return err
	}
	return run.WriteObject(out, o)
}

// readAll is the phase of the run in which files are read and merged.
func readAll(run *report.Run, files []string, base *btf.Blob) (*object.Object, error) {
	phase := run.Phase("read", "files")
	o, err := object.MergeFiles(files, base, runtime.GOMAXPROCS(0), phase.Progress)
	if err != nil {
		return nil, err
	}
	run.EndRead(phase, len(files), o)
	return o, nil
}

// readObjects reads files, several at a time, and calls use with each in order. It holds a few of
// them at once.
func readObjects(files []string, base *btf.Blob,
	use func(path string, o *object.Object) error) error {
	type result struct {
		o   *object.Object
		err error
	}
	ahead := 2 * runtime.GOMAXPROCS(0)
	results := make([]chan result, len(files))
	start := func(i int) {
		if i >= len(files) {
			return
		}
		results[i] = make(chan result, 1)
		go func() {
			o, err := object.ReadFile(files[i], base)
			results[i] <- result{o, err}
		}()
	}
	for i := range ahead {
		start(i)
	}
	for i, path := range files {
		r := <-results[i]
		results[i] = nil
		if r.err != nil {
			return r.err
		}
		start(i + ahead)
		if err := use(path, r.o); err != nil {
			return err
		}
	}
	return nil
}
