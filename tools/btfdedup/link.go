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
	"github.com/rules-btf/rules_btf/internal/distill"
	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/features"
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

With --base the result is split BTF: it holds what the bases don't have. With --distilled-base too it
stands on a small base that is written there, for the sections .BTF and .BTF.base of a module that is
to be loaded by other builds of the kernel; objects made with the feature distilled_base want that.

--skipped lists the functions and variables that are not encoded, one a line: the name, a tab,
and the reason.`,
		Examples: []string{
			"btfdedup link -o vmlinux.btf --facts vmlinux.facts --skipped skipped.txt @objects.params",
			"# a module's BTF stands on the kernel's",
			"btfdedup link -o module.btf --base vmlinux.btf --facts module.facts module.btfo",
			"# for the sections .BTF and .BTF.base of an external module",
			"btfdedup link -o module.btf --distilled-base module.base.btf --base vmlinux.btf module.btfo",
		},
		Setup: func(fs *pflag.FlagSet) cli.Run {
			var r linkRun
			fs.StringVarP(&r.out, "output", "o", "", "the BTF to write: `FILE`")
			fs.StringVar(&r.facts, "facts", "",
				"what is known of the linked file: a `FILE` from btfgen facts")
			fs.StringArrayVar(&r.bases, "base", nil,
				"a base of split BTF `FILE`s; repeat for a chain, the deepest first")
			fs.StringVar(&r.distilled, "distilled-base", "",
				"the distilled base to write, on which the BTF stands then: `FILE`")
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
				if r.distilled != "" && len(r.bases) == 0 {
					return cli.Usagef("link: --distilled-base=%s without --base: what stands alone has no base",
						r.distilled)
				}
				if r.distilled != "" && r.distilled == r.out {
					return cli.Usagef("link: -o and --distilled-base are one file, %s", r.out)
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
	distilled           string
	bases, files        []string
	jobs                int
	report              *report.Flags
}

func (r *linkRun) run(env *cli.Env) error {
	inputs := slices.Concat(r.files, r.bases)
	if r.facts != "" {
		inputs = append(inputs, r.facts)
	}
	for _, out := range []string{r.out, r.distilled, r.skipped} {
		if out == "" && out != r.out {
			continue
		}
		if err := cli.CheckOutput(out, inputs...); err != nil {
			return err
		}
		inputs = append(inputs, out)
	}
	threads := r.jobs
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	run, err := r.report.Start(env, report.Job{Verb: "link", Threads: threads, Inputs: r.files,
		Others: slices.Concat(r.bases, []string{r.facts}), Outputs: []string{r.out, r.distilled,
			r.skipped}})
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
	if o.Features.Has(features.DistilledBase) && base != nil && r.distilled == "" {
		return cli.Usagef("link: the objects were made with the feature %v: --distilled-base=FILE says where that goes", features.DistilledBase)
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
		if err := env.WriteOutput(r.skipped, func(w io.Writer) error {
			return link.WriteSkipped(w,
				res.Skipped)
		}); err != nil {
			return err
		}
	}
	out, distilled := res.BTF, []byte(nil)
	if r.distilled != "" {
		if distilled, out, err = distill.Encode(res.BTF, base); err != nil {
			return link.NameError(err, strings.Join(r.bases, ", "), nil)
		}
	}
	if err := run.Finish(len(out) + len(distilled)); err != nil {
		return err
	}
	if distilled != nil {
		if err := env.WriteOutput(r.distilled, func(w io.Writer) error {
			_,
				err := w.Write(distilled)
			return err
		}); err != nil {
			return err
		}
	}
	return env.WriteOutput(r.out, func(w io.Writer) error {
		_, err := w.Write(out)
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
