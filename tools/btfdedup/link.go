package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/cli"
	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/object"
	"github.com/rules-btf/rules_btf/internal/report"
	"github.com/spf13/pflag"
)

func linkVerb() cli.Verb {
	return cli.Verb{
		Name:    "link",
		Summary: "make the final BTF of a kernel or module from BTF objects",
		Args:    "FILE...",
		Long: `
Writes the final BTF: each type once, forward declarations resolved, functions and variables
decided upon, in canonical order. The result depends on the set of inputs, the facts and the
bases only, not on order or grouping. Linking a result again gives the same bytes.

FILE is a BTF object (.btfo) from btfgen object or btfdedup merge, raw BTF, or an ELF file
with a .BTF section. Without --facts all functions of BTF objects are encoded under their own
names, and no variables; those of raw BTF stay as they are.

With --base the result is split BTF: it holds what the bases don't have.

--skipped lists the functions and variables that are not encoded, one a line: the name, a tab,
and the reason.`,
		Examples: []string{
			"btfdedup link -o vmlinux.btf --facts vmlinux.facts --skipped skipped.txt @objects.params",
			"# a module's BTF stands on the kernel's",
			"btfdedup link -o module.btf --base vmlinux.btf --facts module.facts module.btfo",
		},
		Setup: func(fs *pflag.FlagSet) cli.Run {
			var r linkRun
			fs.StringVarP(&r.out, "output", "o", "", "the BTF to write: `FILE`")
			fs.StringVar(&r.facts, "facts", "", "what is known of the linked file: a `FILE` from btfgen facts")
			fs.StringArrayVar(&r.bases, "base", nil, "a base of split BTF `FILE`s; repeat for a chain, the deepest first")
			fs.StringVar(&r.skipped, "skipped", "", "list what is not encoded in `FILE`")
			fs.IntVarP(&r.jobs, "jobs", "j", 0, "how many `threads` may work; 0: one a processor")
			r.report = report.DefineFlags(fs)
			return func(env *cli.Env, args []string) error {
				if len(args) == 0 {
					return cli.Usagef("link: no file is given (see btfdedup link --help)")
				}
				if r.jobs < 0 {
					return cli.Usagef("link: --jobs=%d is negative", r.jobs)
				}
				r.files = args
				return r.run(env)
			}
		},
	}
}

// linkRun is one run of the verb.
type linkRun struct {
	out, facts, skipped string
	bases, files        []string
	jobs                int
	report              *report.Flags
}

func (r *linkRun) run(env *cli.Env) error {
	inputs := slices.Concat(r.files, r.bases)
	if r.facts != "" {
		inputs = append(inputs, r.facts)
	}
	if err := cli.CheckOutput(r.out, inputs...); err != nil {
		return err
	}
	if r.skipped != "" {
		if err := cli.CheckOutput(r.skipped, append(inputs, r.out)...); err != nil {
			return err
		}
	}
	threads := r.jobs
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	run, err := r.report.Start(env, report.Job{Verb: "link", Threads: threads, Inputs: r.files,
		Others: slices.Concat(r.bases, []string{r.facts}), Outputs: []string{r.out, r.skipped}})
	if err != nil {
		return err
	}
	defer run.Close()
	opt := link.Options{Jobs: r.jobs}
	base, err := btf.ReadBases(r.bases)
	if err != nil {
		return err
	}
	if base != nil {
		opt.Bases = object.Chain(base)
	}
	if r.facts != "" {
		phase := run.Phase("facts", "")
		if opt.Facts, err = readFacts(r.facts); err != nil {
			return err
		}
		run.EndFacts(phase, opt.Facts)
	}
	o, err := readAll(run, r.files, base)
	if err != nil {
		return err
	}
	phase := run.Phase("link", "")
	opt.Features, opt.Step = o.Features, phase.Step
	res, err := link.Link([]*object.Object{o}, opt)
	if err != nil {
		return link.NameError(err, strings.Join(r.files[:min(len(r.files), 3)], ", "), r.bases)
	}
	if err := run.EndLink(phase, res, base); err != nil {
		return err
	}
	if r.skipped != "" {
		if err := env.WriteOutput(r.skipped, func(w io.Writer) error { return link.WriteSkipped(w, res.Skipped) }); err != nil {
			return err
		}
	}
	if err := run.Finish(len(res.BTF)); err != nil {
		return err
	}
	return env.WriteOutput(r.out, func(w io.Writer) error {
		_, err := w.Write(res.BTF)
		return err
	})
}

func readFacts(path string) (*facts.Facts, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x, err := facts.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return x, nil
}
