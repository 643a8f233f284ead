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

func elfCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "elf ELF",
		Short: "Make the final BTF of a linked ELF file in one go",
		Long: `
Reads vmlinux, a module or a program, and writes its BTF. The output is byte for byte what "btfgen
object", "btfgen facts" and "btfdedup link" produce together. The input has DWARF, or BTF from the
compiler (see "btfgen object").

With --base the result is split BTF, with only what the bases lack. --distilled-base also writes a
distilled base. If other builds of the kernel may load the module, put the result in .BTF and the
distilled base in .BTF.base. --distilled-base requires the feature distilled_base.

If the feature global_var is on, --variables selects which variables are encoded.
--variables=percpu selects only per-CPU variables, as if the feature were off. --variables=extra
selects all others, and the output is split BTF: first run the same command with
--variables=percpu, and pass the result as the last --base.

If the feature inline is on, the output also has the sites at which functions were inlined, as
pahole writes them for resolve_btfids of Linux 7.4. "btfgen inline" writes them to a separate file.

A stripped file has its DWARF and symbols in a separate debug file. The debug file is found by
build-id or by the section .gnu_debuglink, next to the input or in --debug-dir. The supplementary
file of dwz -m is found in the same way, and .dwo files by the paths in the skeleton units.
--verbose lists the files that were found. With --debug-file, no file is searched for: name every
file that the input needs.

--skipped lists the functions and variables that are not encoded. Each line has the name, a tab, and
the reason.`,
		Example: `
btfgen elf --lang-exclude=rust -o vmlinux.btf vmlinux
btfgen elf --base vmlinux.btf -o mod.btf mod.ko
btfgen elf --base vmlinux.btf --distilled-base mod.base.btf -o mod.btf mod.ko
btfgen elf --debug-file vmlinux.debug -o vmlinux.btf vmlinux
# split BTF with the variables that are not per CPU
btfgen elf --features=+global_var --variables=extra --base vmlinux.btf -o extra.btf vmlinux`,
	}, cli.Output|cli.Base|cli.Features|cli.Skipped|cli.DistilledBase|cli.Report)
	var c conversion.Flags
	c.Define(flags)
	var which link.Which
	conversion.VariablesVar(flags, &which)
	return flags.Command(func(env *cli.Env, args []string) error {
		return runElf(env, &c, which, args[0])
	})
}

func runElf(env *cli.Env, c *conversion.Flags, which link.Which, path string) error {
	if err := conversion.CheckVariables(env, which, env.Features, true); err != nil {
		return err
	}
	if which == link.Extra && env.Features.Has(features.Inline) {
		return cli.Usagef("--variables=%v and the feature %v can't be used together", which,
			features.Inline)
	}
	pipeline.RelaxHeap([]string{path})
	// Without bases, the feature is ignored, so that a kernel and its modules can be built with the
	// same features.
	if len(env.Bases) > 0 && env.DistilledBase == "" && env.Features.Has(features.DistilledBase) {
		return cli.Usagef("the feature %v needs --distilled-base=FILE, a file to write the base to",
			features.DistilledBase)
	}
	defer c.SplitDWARF.Close()
	run := report.Start(env, []string{path})
	defer run.Close()
	bases, err := base.Open(env.Bases)
	if err != nil {
		return err
	}
	defer bases.Close()
	if env.DistilledBase != "" {
		if _, err := bases.Whole("--distilled-base"); err != nil {
			return err
		}
	}
	result, err := pipeline.Linked(path, pipeline.How{Files: c.Search(env), Bases: bases,
		Input: c.Input, Convert: c.Options(env), Variables: which, Alone: true, Watch: run})
	if err != nil {
		return err
	}
	if len(env.Bases) == 0 && elf.IsModule(path) {
		env.Warn("%s: the BTF of a kernel module must be based on the kernel's BTF; add --base", path)
	}
	if result.Doubt != "" {
		env.Warn("%s: %s", path, result.Doubt)
	}
	return run.WriteLinked(result.Result, bases.Last)
}
