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
		Short: "Make an index of BTF, so that modules are linked faster",
		Long: `
Writes an index of BTF. "btfdedup link", "btfgen modules" and "btfgen elf" accept the index as
--base in place of the BTF, and read only the parts that they need. The result is the same, byte for
byte.

FILE is raw BTF, or an ELF file with a .BTF section. If it is split BTF, --base names the BTF on
which it is based. The index covers only FILE: in a chain of bases, each base needs its own index.`,
		Example: `
btfdedup index -o vmlinux.btfbase vmlinux.btf
# an index of split BTF, to be used with --base vmlinux.btfbase --base mod.btfbase
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
