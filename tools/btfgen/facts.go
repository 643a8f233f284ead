package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/cli"
	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/report"
)

// factsVerb is "btfgen facts".
func factsVerb() cli.Verb {
	return cli.Verb{
		Name:    "facts",
		Summary: "write what only a linked ELF file knows: functions, variables, kfuncs",
		Args:    "ELF",
		Long: `Reads the symbol table, the section headers and .BTF_ids of a linked file (vmlinux, a module, a program) and
writes them as sorted text for "btfdedup link". The text holds no address of a function and no code.

If several source files of one base name have static variables of one name, it reads the DWARF of those files too, so
that the link can tell the variables apart. --features must be those of "btfgen object".

A module whose .BTF_ids is resolved already may need --base to tell which flags belong to which kfunc.`,
		Examples: []string{
			"btfgen facts -o vmlinux.facts vmlinux",
			"btfgen facts -o mod.facts --base vmlinux.btf mod.ko",
		},
		Setup: func(flags *pflag.FlagSet) cli.Run {
			out := flags.StringP("output", "o", "", "where to write the facts; - means standard output")
			list := flags.String("features", "default",
				"comma-separated names of features, as in pahole's --btf_features")
			reports := report.DefineFlags(flags)
			base := flags.String("base", "", "base BTF of a module: raw BTF, or an ELF file with .BTF")
			return func(env *cli.Env, args []string) error {
				if len(args) != 1 {
					return cli.Usagef("facts: one ELF file is due, %d are given", len(args))
				}
				if *out == "" {
					return cli.Usagef("facts: -o OUT is missing")
				}
				set, err := features.Parse(*list)
				if err != nil {
					return cli.Usagef("facts: %v", err)
				}
				run, err := reports.Start(env, report.Job{Verb: "facts", Threads: 1, Inputs: args,
					Others: []string{*base}, Outputs: []string{*out}})
				if err != nil {
					return err
				}
				defer run.Close()
				return writeFacts(env, run, *out, args[0], *base, set)
			}
		},
	}
}

// writeFacts extracts and writes the facts of one file.
func writeFacts(env *cli.Env, run *report.Run, out, path, base string, set features.Set) error {
	options := facts.Options{Features: set}
	if base != "" {
		blobs, err := btf.ReadFile(base, nil)
		if err != nil {
			return err
		}
		if len(blobs) != 1 {
			return fmt.Errorf("%s: %d BTF blobs; a base is one", base, len(blobs))
		}
		options.Base = blobs[0]
	}
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	result, err := extractFacts(run, f, options)
	if err != nil {
		return err
	}
	if result.KfuncState == facts.KfuncsStripped {
		env.Warn("%s: section .BTF_ids has no contents; no function is known to be a kfunc", path)
	}
	var text bytes.Buffer
	if err := result.Write(&text); err != nil {
		return err
	}
	if err := run.Finish(text.Len()); err != nil {
		return err
	}
	return env.WriteOutput(out, func(w io.Writer) error {
		_, err := text.WriteTo(w)
		return err
	})
}
