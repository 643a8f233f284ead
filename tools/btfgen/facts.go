package main

import (
	"bytes"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/conversion"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/format/debugfile"
	"github.com/rules-btf/rules_btf/internal/format/splitdwarf"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/pipeline"
)

func factsCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "facts ELF",
		Short: "Write the facts that only a linked ELF file has: functions, variables, kfuncs",
		Long: `
Reads the symbol table, the section headers and .BTF_ids of a linked file (vmlinux, a module, a
program), and writes them as sorted text for "btfdedup link". The text contains no code and no
addresses of functions.

If several source files with the same base name have static variables with the same name, their
DWARF is read too, so that the link can distinguish the variables. --features must be the same as
for "btfgen object".

The symbols and DWARF of a stripped file are in a separate debug file (see "btfgen elf"), but the
kfuncs are read from the stripped file.

A module with resolved ids in .BTF_ids may need --base, to find which flags belong to which kfunc.`,
		Example: `
btfgen facts -o vmlinux.facts vmlinux
btfgen facts -o mod.facts --base vmlinux.btf mod.ko`,
	}, cli.Output|cli.Base|cli.Features|cli.Report)
	files := new(debugfile.Search)
	conversion.FilesVar(flags, files)
	return flags.Command(func(env *cli.Env, args []string) error {
		return runFacts(env, files, args)
	})
}

func runFacts(env *cli.Env, files *debugfile.Search, args []string) error {
	split := &splitdwarf.Finder{Files: files}
	defer split.Close()
	if err := conversion.CheckInline(env); err != nil {
		return err
	}
	files.Tell = env.Tell
	run := report.Start(env, args)
	defer run.Close()
	bases, err := base.Open(env.Bases)
	if err != nil {
		return err
	}
	defer bases.Close()
	f, err := files.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	doubt, err := bases.Fit(f)
	if err != nil {
		return err
	}
	f.Threads = env.Jobs
	options := facts.Options{Features: env.Features, Base: bases.Last}
	run.FindingFacts()
	known, err := pipeline.Facts(f, options, split)
	if err != nil {
		return err
	}
	run.FoundFacts(known)
	if doubt != "" {
		env.Warn("%s: %s", args[0], doubt)
	}
	var text bytes.Buffer
	if err := known.Write(&text); err != nil {
		return err
	}
	return run.Write(text.Bytes())
}
