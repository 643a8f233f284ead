package main

import (
	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/conversion"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/pipeline"
)

// elfCommand is "btfgen elf".
func elfCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "elf ELF",
		Short: "Make the final BTF of a linked ELF file in one go",
		Long: `
Reads vmlinux, a module or a program, and writes its BTF: to the byte what "btfgen object", "btfgen
facts" and "btfdedup link" make of it. The input has DWARF, or BTF from the compiler (see --input of
"btfgen object").

With --base the result is split BTF, with what the bases don't have. --distilled-base makes BTF for
the sections .BTF and .BTF.base of a module that other builds of the kernel may load; it requires
the feature distilled_base.

--variables selects variables if the feature global_var is on: percpu encodes per-CPU variables
alone, as without that feature; extra encodes all others, as split BTF whose --base is the BTF that
the same command with percpu wrote.

A stripped file has its DWARF and symbols in a separate debug file. Name it with --dwarf; the
default is a search by build-id and by the section .gnu_debuglink, beside the file and in
--debug-dir. The supplementary file of dwz -m is found likewise, or named with --alt. With --verbose
the files that were found are listed.

--skipped lists functions and variables that are not encoded. A line is the name, a tab, and the
reason.`,
		Example: `
btfgen elf --lang-exclude=rust -o vmlinux.btf vmlinux
btfgen elf --base vmlinux.btf -o mod.btf mod.ko
btfgen elf --base vmlinux.btf --distilled-base mod.base.btf -o mod.btf mod.ko
btfgen elf --dwarf vmlinux.debug -o vmlinux.btf vmlinux
# the other variables, on vmlinux.btf
btfgen elf --features=+global_var --variables=extra --base vmlinux.btf -o extra.btf vmlinux`,
	}, cli.Output|cli.Base|cli.Features|cli.Skipped|cli.DistilledBase|cli.Report)
	var c conversion.Flags
	c.Define(flags)
	conversion.DWARFVar(flags, &c.Files)
	var which link.Which
	conversion.VariablesVar(flags, &which)
	return flags.Command(func(env *cli.Env, args []string) error {
		return runElf(env, &c, which, args[0])
	})
}

func runElf(env *cli.Env, c *conversion.Flags, which link.Which, path string) error {
	options := c.Options(env)
	if err := conversion.CheckVariables(env, which, env.Features, true); err != nil {
		return err
	}
	pipeline.RelaxHeap([]string{path})
	// Without bases the feature says nothing: a kernel and its modules may be built with the same
	// features.
	if len(env.Bases) > 0 && env.DistilledBase == "" && env.Features.Has(features.DistilledBase) {
		return cli.Usagef("the feature %v needs --distilled-base=FILE, which says where that goes",
			features.DistilledBase)
	}
	defer c.Split.Close()
	run := report.Start(env, []string{path})
	defer run.Close()
	bases, err := base.Open(env.Bases)
	if err != nil {
		return err
	}
	defer bases.Close()
	if env.DistilledBase != "" {
		if err := bases.NeedBTF("--distilled-base"); err != nil {
			return err
		}
	}
	result, err := pipeline.Linked(path, pipeline.How{Files: c.Search(env), Bases: bases,
		Convert: options, Variables: pipeline.Variables{Which: which}, Watch: run})
	if err != nil {
		return err
	}
	if len(env.Bases) == 0 && elf.IsModule(path) {
		env.Warn("%s: a kernel module, whose BTF is based on that of the kernel; this stands alone, for "+
			"want of --base", path)
	}
	return run.WriteLinked(result.Result, bases.BTF)
}
