package main

import (
	"io"
	"math"
	"os"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/inspect/stats"
)

func statsCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "stats FILE|DIR...",
		Short: "Count the types and strings of BTF, and show what makes it large",
		Long: `
For one file, prints how many types of each kind and how many strings there are, and their sizes;
whether the strings name types, members or something else; the largest types; and the sections.
Split BTF needs --base: only its own types and strings are counted, and one line says how many types
of the base they use.

If you pass several files or a directory, they must be modules of one kernel, and --base is
required. The command then prints the same counts for all modules together, and lists the types that
repeat: how many modules have each type, the size of one record, and the size of all records except
one. At the end it prints what "btfdedup shared" would save. Types count as equal if "btfdedup link"
would merge them; a link also resolves forward declarations.

A FILE is raw BTF, or an ELF file with a section .BTF. For a directory, all files *.btf below it are
read, except the bases. The order of the files doesn't matter. docs/inside.md describes the fields
of --format=json.`,
		Example: `
btfdedup stats vmlinux.btf
btfdedup stats --base vmlinux.btf --format=json ext4.ko
# all modules of a kernel
btfdedup stats --base vmlinux.btf --limit=20 modules`,
	}, cli.Printed|cli.Base)
	var r statsRun
	flags.FormatVar(&r.format)
	r.limit = 20
	flags.NumberVarP(&r.limit, "limit", "", 0, math.MaxInt, "types",
		"list the `N` largest types; 0 lists all")
	return flags.Command(r.run)
}

type statsRun struct {
	format string
	limit  int
}

// figures is a report that can be printed.
type figures interface{ WriteText(io.Writer) error }

func (r *statsRun) run(env *cli.Env, args []string) error {
	found, err := r.count(env, args)
	if err != nil {
		return err
	}
	return env.WriteOutput(env.Output, func(w io.Writer) error {
		if r.format == "text" {
			return found.WriteText(w)
		}
		return writeJSON(w, found)
	})
}

func (r *statsRun) count(env *cli.Env, args []string) (figures, error) {
	if info, err := os.Stat(args[0]); len(args) == 1 && (err != nil || !info.IsDir()) {
		b, err := readBlob(env, args[0])
		if err != nil {
			return nil, err
		}
		return stats.Take(b, r.limit), nil
	}
	run := report.Start(env, args)
	defer run.Close()
	bases, set, err := readModules(env, run, args)
	if err != nil {
		return nil, err
	}
	defer bases.Close()
	return set.Report(bases.Base, r.limit), nil
}
