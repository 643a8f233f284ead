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
Reads vmlinux, a module or a program with DWARF, or with the BTF that the compiler wrote (see
--input of "btfgen object"), and writes its BTF: what "btfgen object", "btfgen facts" and
"btfdedup link" make of it, to the byte.

With --base the result is split BTF: it holds what the bases don't have. With --distilled-base too
it is based on a small base that is written there, for the sections .BTF and .BTF.base of a module
that is to be loaded by other builds of the kernel; the feature distilled_base wants that.

--variables says which variables are encoded, of those that the feature global_var lists: percpu
are the per-CPU ones, as without that feature; extra are all others, in split BTF that has nothing
else but the types that only they need, on the --base that the same command with percpu made.

Of a stripped file the DWARF and the symbols are in a separate debug file: --dwarf names it. Without
it, a file without DWARF has it looked for, by the build-id and the section .gnu_debuglink, beside
the file and in --debug-dir; --verbose says what was found. What dwz -m has moved into a
supplementary file is read there: --alt names it, else it is looked for.

--skipped lists the functions and variables that are not encoded, one a line: the name, a tab,
and the reason.`,
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
