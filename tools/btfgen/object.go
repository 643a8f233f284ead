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
Reads object files, archives of them (thin ones too) and linked files, and writes a BTF object
(.btfo) for "btfdedup merge" and "btfdedup link". The output doesn't depend on addresses, line
numbers, paths or the order in which the source declares things.

What is read of an input is its DWARF, or if it has none the BTF in its section .BTF that the
compiler wrote (gcc -gbtf, clang -target bpf -g); --input=dwarf and --input=btf say which of the two
it must be. The inputs may differ in this. BTF that was linked before, as a kernel has it in .BTF,
is refused: "btfdedup link" reads that as it is. docs/inputs.md says what BTF can't tell.

Of several inputs it writes what "btfdedup merge" makes of the object of each, to the byte, in much
less time: what they have in common is read once. Inputs that can't be converted are listed, and
then nothing is written.

The DWARF of a stripped file, and what dwz -m has moved out of it, are in other files: --dwarf,
--alt and --debug-dir say where, as with "btfgen elf".`,
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
