package main

import (
	"io"
	"sync"

	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/cli"
	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/object"
	"github.com/rules-btf/rules_btf/internal/report"
)

// elfVerb is "btfgen elf".
func elfVerb() cli.Verb {
	return cli.Verb{
		Name:    "elf",
		Summary: "make the final BTF of a linked ELF file in one go",
		Args:    "ELF",
		Long: `Reads vmlinux, a module or a program with DWARF and writes its BTF: what "btfgen object", "btfgen facts" and
"btfdedup link" make of it, to the byte.

With --base the result is split BTF: it holds what the bases don't have. --skipped lists the functions and variables
that are not encoded, one a line: the name, a tab, and the reason.`,
		Examples: []string{
			"btfgen elf --lang-exclude=rust -o vmlinux.btf vmlinux",
			"btfgen elf --base vmlinux.btf -o mod.btf mod.ko",
		},
		Setup: func(flags *pflag.FlagSet) cli.Run {
			c := conversionFlags(flags, "BTF")
			bases := flags.StringArray("base", nil, "a base of split BTF `FILE`s; repeat for a chain, the deepest first")
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
				if *skipped != "" {
					if err := cli.CheckOutput(*skipped, append(inputs, *c.output)...); err != nil {
						return err
					}
				}
				run, err := c.report.Start(env, report.Job{Verb: "elf", Threads: options.Jobs, Inputs: args,
					Others: *bases, Outputs: []string{*c.output, *skipped}})
				if err != nil {
					return err
				}
				defer run.Close()
				result, err := encode(env, run, args[0], *bases, options)
				if err != nil {
					return err
				}
				if *skipped != "" {
					err := env.WriteOutput(*skipped, func(w io.Writer) error { return link.WriteSkipped(w, result.Skipped) })
					if err != nil {
						return err
					}
				}
				if err := run.Finish(len(result.BTF)); err != nil {
					return err
				}
				return env.WriteOutput(*c.output, func(w io.Writer) error {
					_, err := w.Write(result.BTF)
					return err
				})
			}
		},
	}
}

// encode makes the BTF of the file at path.
func encode(env *cli.Env, run *report.Run, path string, bases []string, options convert.Options) (*link.Result, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	base, err := btf.ReadBases(bases)
	if err != nil {
		return nil, err
	}
	var known *facts.Facts
	var factsErr error
	var wg sync.WaitGroup
	wg.Go(func() { known, factsErr = extractFacts(run, f, facts.Options{Features: options.Features, Base: base}) })
	o, err := convertFile(run, f, options)
	wg.Wait()
	if err != nil {
		return nil, err
	}
	if factsErr != nil {
		return nil, factsErr
	}
	if known.KfuncState == facts.KfuncsStripped {
		env.Warn("%s: section .BTF_ids has no contents; no function is known to be a kfunc", path)
	}
	phase := run.Phase("link", "")
	opt := link.Options{Facts: known, Features: options.Features, Jobs: options.Jobs, Step: phase.Step}
	if base != nil {
		opt.Bases = object.Chain(base)
	}
	result, err := link.Link([]*object.Object{o}, opt)
	if err != nil {
		return nil, link.NameError(err, path, bases)
	}
	return result, run.EndLink(phase, result, base)
}

// extractFacts is the phase of the run in which the facts are extracted.
func extractFacts(run *report.Run, f *elf.File, options facts.Options) (*facts.Facts, error) {
	phase := run.Phase("facts", "")
	known, err := facts.Extract(f, options)
	if err == nil {
		run.EndFacts(phase, known)
	}
	return known, err
}

// convertFile is the phase of the run in which the DWARF of one file is converted.
func convertFile(run *report.Run, f *elf.File, options convert.Options) (*object.Object, error) {
	phase := run.Phase("convert", "units")
	options.Progress = phase.Progress
	parts, err := convert.File(f, options)
	if err != nil {
		return nil, err
	}
	o := object.Join(parts)
	run.EndConvert(phase, options.Counts, o)
	return o, nil
}
