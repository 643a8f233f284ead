package main

import (
	"io"
	"math"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/inspect/stats"
)

func statsVerb() cli.Verb {
	return cli.Verb{
		Name:    "stats",
		Summary: "count what is in BTF, and tell what makes it large",
		Args:    "FILE",
		Long: `
Prints how many types of each kind and how many strings FILE has, how many bytes they take, what the
strings are names of, the largest types, and the sections. FILE is raw BTF, or an ELF file with a
section .BTF. Of split BTF, which needs --base, its own part is counted, and how much it uses of its
base. docs/inside.md describes the fields of --format=json.`,
		Examples: []string{
			"btfdedup stats vmlinux.btf",
			"btfdedup stats --base vmlinux.btf --format=json ext4.ko",
		},
		Flags: cli.Printed | cli.Base,
		Setup: func(flags *cli.FlagSet) cli.Run {
			var r statsRun
			flags.FormatVar(&r.format)
			r.limit = 20
			flags.NumberVarP(&r.limit, "limit", "", 0, math.MaxInt, "types",
				"list `N` of the largest types, 0 for all")
			return r.run
		},
	}
}

// statsRun is one run of the verb.
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
