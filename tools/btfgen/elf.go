package main

import (
	"cmp"
	"io"
	"sync"

	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/cli"
	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/distill"
	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/object"
	"github.com/rules-btf/rules_btf/internal/report"
	"github.com/rules-btf/rules_btf/internal/statics"
)

// elfVerb is "btfgen elf".
func elfVerb() cli.Verb {
	return cli.Verb{
		Name:    "elf",
		Summary: "make the final BTF of a linked ELF file in one go",
		Args:    "ELF",
		Long: `Reads vmlinux, a module or a program with DWARF and writes its BTF: what "btfgen object", "btfgen facts" and
"btfdedup link" make of it, to the byte.

With --base the result is split BTF: it holds what the bases don't have. With --distilled-base too it
stands on a small base that is written there, for the sections .BTF and .BTF.base of a module that is to be loaded by
other builds of the kernel; the feature distilled_base wants that. --skipped lists the functions and variables
that are not encoded, one a line: the name, a tab, and the reason.`,
		Examples: []string{
			"btfgen elf --lang-exclude=rust -o vmlinux.btf vmlinux",
			"btfgen elf --base vmlinux.btf -o mod.btf mod.ko",
			"btfgen elf --base vmlinux.btf --distilled-base mod.base.btf -o mod.btf mod.ko",
		},
		Setup: func(flags *pflag.FlagSet) cli.Run {
			c := conversionFlags(flags, "BTF")
			bases := flags.StringArray("base", nil,
				"a base of split BTF `FILE`s; repeat for a chain, the deepest first")
			distilled := flags.String("distilled-base", "",
				"the distilled base to write, on which the BTF stands then: `FILE`")
			skipped := flags.String("skipped", "", "list what is not encoded in `FILE`")
			return func(env *cli.Env, args []string) error {
				options, err := c.options(env, "elf", args)
				if err != nil {
					return err
				}
				inputs := append(append([]string(nil), args...), *bases...)
				if err := c.checkOutput("elf", inputs); err != nil {
					return err
				}
				if err := checkDistilled(options.Features, *bases, *distilled); err != nil {
					return err
				}
				if *distilled == *c.output {
					return cli.Usagef("elf: -o and --distilled-base are one file, %s", *distilled)
				}
				inputs = append(inputs, *c.output)
				for _, out := range []string{*distilled, *skipped} {
					if out == "" {
						continue
					}
					if err := cli.CheckOutput(out, inputs...); err != nil {
						return err
					}
					inputs = append(inputs, out)
				}
				run, err := c.report.Start(env, report.Job{Verb: "elf", Threads: options.Jobs, Inputs: args,
					Others: *bases, Outputs: []string{*c.output, *distilled, *skipped}})
				if err != nil {
					return err
				}
				defer run.Close()
				result, base, err := encode(env, run, args[0], *bases, options)
				if err != nil {
					return err
				}
				out, under := result.BTF, []byte(nil)
				if *distilled != "" {
					if under, out, err = distill.Encode(result.BTF, base); err != nil {
						return link.NameError(err, args[0], nil)
					}
				}
				if *skipped != "" {
					err := env.WriteOutput(*skipped, func(w io.Writer) error {
						return link.WriteSkipped(w,
							result.Skipped)
					})
					if err != nil {
						return err
					}
				}
				if err := run.Finish(len(out) + len(under)); err != nil {
					return err
				}
				if under != nil {
					if err := env.WriteOutput(*distilled, func(w io.Writer) error {
						_,
							err := w.Write(under)
						return err
					}); err != nil {
						return err
					}
				}
				return env.WriteOutput(*c.output, func(w io.Writer) error {
					_, err := w.Write(out)
					return err
				})
			}
		},
	}
}

// checkDistilled checks that the feature distilled_base and the output for it come together.
// Without bases the feature says nothing, for a kernel and its modules may be built with the same
// features.
func checkDistilled(set features.Set, bases []string, out string) error {
	switch {
	case out != "" && len(bases) == 0:
		return cli.Usagef("elf: --distilled-base=%s without --base: what stands alone has no base", out)
	case out == "" && len(bases) > 0 && set.Has(features.DistilledBase):
		return cli.Usagef("elf: the feature %v needs --distilled-base=FILE, which says where that goes",
			features.DistilledBase)
	}
	return nil
}

// encode makes the BTF of the file at path. It returns the last of the bases too, nil if there are
// none.
func encode(env *cli.Env, run *report.Run, path string, bases []string,
	options convert.Options) (*link.Result, *btf.Blob, error) {
	base, err := btf.ReadBases(bases)
	if err != nil {
		return nil, nil, err
	}
	phase := run.Phase("convert", "units")
	options.Progress = phase.Progress
	o, known, err := readFile(run, path, base, options)
	if err != nil {
		return nil, nil, err
	}
	run.EndConvert(phase, options.Counts, o)
	if known.KfuncState == facts.KfuncsStripped {
		env.Warn("%s: section .BTF_ids has no contents; no function is known to be a kfunc", path)
	}
	phase = run.Phase("link", "")
	opt := link.Options{Facts: known, Features: options.Features, Jobs: options.Jobs, Step: phase.Step}
	if base != nil {
		opt.Bases = object.Chain(base)
	}
	result, err := link.Link([]*object.Object{o}, opt)
	if err != nil {
		return nil, nil, link.NameError(err, path, bases)
	}
	return result, base, run.EndLink(phase, result, base)
}

// readFile takes from the file at path what the link needs. The file's memory, symbols included, is
// free afterwards.
func readFile(run *report.Run, path string, base *btf.Blob,
	options convert.Options) (*object.Object, *facts.Facts, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	f.Threads = options.Jobs
	var known *facts.Facts
	var factsErr error
	var wg sync.WaitGroup
	wg.Go(func() {
		known, factsErr = extractFacts(run, f, facts.Options{Features: options.Features,
			Base: base})
	})
	o, err := convert.File(f, options)
	wg.Wait()
	return o, known, cmp.Or(err, factsErr)
}

// extractFacts is the phase of the run in which the facts are extracted.
func extractFacts(run *report.Run, f *elf.File, options facts.Options) (*facts.Facts, error) {
	phase := run.Phase("facts", "")
	known, err := facts.Extract(f, options)
	if err != nil {
		return nil, err
	}
	if err := statics.Identify(f, known, options.Features); err != nil {
		return nil, err
	}
	run.EndFacts(phase, known)
	return known, nil
}
