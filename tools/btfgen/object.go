package main

import (
	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/conversion"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/pipeline"
)

// objectCommand is "btfgen object".
func objectCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "object INPUT...",
		Short: "Convert the debugging information of object files and archives into one BTF object",
		Long: `
Reads object files, archives (thin ones too) and linked files, and writes a BTF object (.btfo) for
"btfdedup merge" and "btfdedup link". The output doesn't depend on addresses, line numbers, paths or
the order of declarations in the source.

Each input has DWARF, or else BTF that the compiler wrote to its section .BTF (gcc -gbtf, clang
-target bpf -g); --input=dwarf and --input=btf accept one of them only. BTF that is linked already,
such as a kernel's, is an error: pass it to "btfdedup link". docs/inputs.md says what the BTF of a
compiler lacks.

The output for several inputs is to the byte what "btfdedup merge" makes of their objects, in much
less time: what they share is read once. If an input can't be converted, there is no output, and all
such inputs are listed.

--dwarf, --alt and --debug-dir say where the DWARF of stripped files is, and what dwz -m has moved
out of it: see "btfgen elf".`,
		Example: `
btfgen object -o foo.btfo foo.o
btfgen object --lang-exclude=rust -o lib.btfo lib.a
# the inputs from a file, one a line
btfgen object -o dir.btfo @inputs.params`,
	}, cli.Output|cli.Features|cli.Report|cli.Worker)
	var r objectRun
	r.Define(flags)
	conversion.DWARFVar(flags, &r.Files)
	return flags.Command(r.run)
}

// objectRun is one run of the verb.
type objectRun struct {
	conversion.Flags
}

func (r *objectRun) run(env *cli.Env, paths []string) error {
	options := r.Options(env)
	if !env.Worker {
		pipeline.RelaxHeap(paths)
	}
	if len(paths) > 1 && r.Files.DWARF != "" {
		return cli.Usagef("%d inputs are given; --dwarf is the debug file of one", len(paths))
	}
	defer r.Split.Close()
	run := report.Start(env, paths)
	defer run.Close()
	o, err := pipeline.Objects(r.Search(env), paths, options, run, env.Error)
	if err != nil {
		return err
	}
	return run.WriteObject(o)
}
