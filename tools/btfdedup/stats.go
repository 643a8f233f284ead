package main

import (
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/inspect/stats"
)

func statsCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "stats FILE",
		Short: "Count the types and strings of BTF, and show what makes it large",
		Long: `
Prints how many types of each kind and how many strings there are, and their sizes; whether the
strings name types, members or something else; the largest types; and the sections. Split BTF needs
--base: only its own types and strings are counted, and one line says how many types of the base
they use.

FILE is raw BTF, or an ELF file with a section .BTF. docs/inside.md describes the fields of
--format=json.`,
		Example: `
btfdedup stats vmlinux.btf
btfdedup stats --base vmlinux.btf --format=json ext4.ko`,
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

func (r *statsRun) run(env *cli.Env, args []string) error {
	b, err := readBlob(env, args[0])
	if err != nil {
		return err
	}
	found := stats.Take(b, r.limit)
	return env.WriteOutput(env.Output, func(w io.Writer) error {
		if r.format == "text" {
			return found.WriteText(w)
		}
		return writeJSON(w, found)
	})
}
