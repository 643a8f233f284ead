package main

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/report"
)

func reportCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "report BTF|DIR...",
		Short: "Tell where the bytes of modules go, and which types repeat across them",
		Long: `
Lists the named types that several modules hold: how many do, the bytes of one record, and the bytes
that all records but one take, those that take most first. Then for each kind, and for strings, how
many there are in all modules and how many of these repeat; and what a base of the types that repeat
would save, which "btfdedup shared" makes.

Types are equal as link tells: once forward declarations are resolved. Functions, variables,
sections and declaration tags are never shared, so they are not looked at for repeats. Types that
the base has already, or that one module holds twice, are counted; --check asks for none. btfdedup
makes none. Definitions of tags that the base defines in another way or only declares, and further
ones in one module, are counted too: they look like repeats, and are none.

BTF is the split BTF of a module, or an ELF file with a .BTF section. Of a directory, all files
*.btf below it are taken, except the bases. The output depends on the set of inputs only, not on
order. docs/command-line.md describes what --format=json prints.

Exit codes: 0; 1 an unreadable file or, with --check, a type that the base has, or that one module
holds twice; 2 wrong usage.`,
		Example: `
btfdedup report --base vmlinux.btf --limit=20 modules
btfdedup report --base vmlinux.btf --format=json @modules.params`,
	}, cli.Base)
	var r reportRun
	r.limit = 50
	flags.NumberVarP(&r.limit, "limit", "", 0, math.MaxInt, "types",
		"list `N` types at most, 0 for all")
	flags.FormatVar(&r.format)
	flags.BoolVar(&r.check, "check", false,
		"exit with 1 if a module holds a type twice, or one that the base has")
	return flags.Command(r.run)
}

type reportRun struct {
	limit  int
	format string
	check  bool
}

func (r *reportRun) run(env *cli.Env, args []string) error {
	run := report.Start(env, args)
	defer run.Close()
	bases, set, err := readModules(env, run, args)
	if err != nil {
		return err
	}
	defer bases.Close()
	found := set.Report(bases.Base, r.limit)
	if r.format == "json" {
		err = writeJSON(env.Stdout, found)
	} else {
		err = found.WriteText(env.Stdout)
	}
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if r.check && found.InBase.Count+found.Twice.Count > 0 {
		return cli.ErrNo
	}
	return nil
}
