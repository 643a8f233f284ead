package main

import (
	"fmt"
	"io"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/cli"
	"github.com/rules-btf/rules_btf/internal/dump"
)

func dumpVerb() cli.Verb {
	return cli.Verb{
		Name:    "dump",
		Summary: "print BTF: type by type",
		Args:    "FILE",
		Long: `
Prints the types of FILE: raw BTF, such as /sys/kernel/btf/vmlinux, or an ELF file with a section
.BTF. docs/inside.md describes the output and how it differs from bpftool's.

  raw  one record after the other, with its id, as bpftool btf dump file FILE format raw does;
       of split BTF its own types alone

Split BTF, such as that of a module, needs --base. A module that has its base in its section
.BTF.base is printed as it stands on that.`,
		Examples: []string{
			"btfdedup dump vmlinux.btf | less",
			"btfdedup dump --name task_struct /sys/kernel/btf/vmlinux",
			"# a module's own types",
			"btfdedup dump --base vmlinux.btf ext4.ko",
		},
		Flags: cli.Output | cli.Base,
		Setup: func(flags *cli.FlagSet) cli.Run {
			standardOutput(flags)
			var r dumpRun
			flags.StringVar(&r.format, "format", "raw", "`raw`")
			flags.StringArrayVar(&r.names, "name", nil,
				"only types with the name `N`, of all kinds, those of bases too; may be repeated")
			return r.run
		},
	}
}

// standardOutput makes standard output what -o says if it is not given.
func standardOutput(flags *cli.FlagSet) {
	output := flags.Lookup("output")
	output.DefValue = "-"
	output.Value.Set(output.DefValue) // a string takes any value
}

// dumpRun is one run of the verb.
type dumpRun struct {
	format string
	names  []string
}

func (r *dumpRun) run(env *cli.Env, args []string) error {
	if r.format != "raw" {
		return cli.Usagef("--format=%s is not raw", r.format)
	}
	b, err := readBlob(env, args[0])
	if err != nil {
		return err
	}
	var ids []uint32
	if len(r.names) > 0 {
		if ids, err = dump.Named(b, r.names); err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
	}
	return env.WriteOutput(env.Output, func(w io.Writer) error {
		if ids != nil {
			return dump.Some(w, b, ids)
		}
		return dump.Raw(w, b)
	})
}

// readBlob reads the one BTF of a file, on the bases of the command line.
func readBlob(env *cli.Env, path string) (*btf.Blob, error) {
	base, err := btf.ReadBases(env.Bases)
	if err != nil {
		return nil, err
	}
	return btf.ReadOne(path, base)
}
