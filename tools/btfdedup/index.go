package main

import (
	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/link/base"
)

func indexCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "index FILE",
		Short: "Make an index of BTF, on which modules are linked faster",
		Long: `
Writes an index of BTF: a file from which the link of a module reads what it needs of its base, and
no more. "btfdedup link", "btfdedup modules" and "btfgen elf" accept it as --base in place of the
BTF, with the same result to the byte.

FILE is raw BTF, or an ELF file with a .BTF section. If it is split BTF, --base names the BTF on
which it is based. The index has FILE alone: a chain of bases needs one index for each.`,
		Example: `
btfdedup index -o vmlinux.btfbase vmlinux.btf
# of BTF that is based on another one: for --base vmlinux.btfbase --base mod.btfbase
btfdedup index --base vmlinux.btf -o mod.btfbase mod.btf`,
	}, cli.Output|cli.Base|cli.Report)
	return flags.Command(runIndex)
}

func runIndex(env *cli.Env, args []string) error {
	run := report.Start(env, args)
	defer run.Close()
	data, err := base.Index(args[0], env.Bases)
	if err != nil {
		return err
	}
	return run.Write(data)
}
