package main

import (
	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/conversion"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/pipeline"
)

func objectCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "object INPUT...",
		Short: "Convert the debugging information of object files and archives into one BTF object",
		Long: `
Reads object files, archives (even thin ones) and linked files, and writes a BTF object (.btfo) for
"btfdedup merge" and "btfdedup link". The output doesn't depend on addresses, line numbers, paths or
the order of declarations in the source.

Each input has DWARF, or else a section .BTF that the compiler wrote (gcc -gbtf, clang -target bpf
-g); --input=dwarf accepts only DWARF, and --input=btf only BTF. BTF that is already linked, such as
the BTF of a kernel, is an error: pass it to "btfdedup link". For what is missing from
compiler-generated BTF, see docs/inputs.md.

For several inputs, the output is byte for byte what you get if you convert them one by one and
merge the results with "btfdedup merge". Converting them together takes much less time, because what
they share is read only once. If an input can't be converted, it is listed, and there is no output.

--debug-file and --debug-dir say where the debug files of the inputs are: see "btfgen elf".`,
		Example: `
btfgen object -o foo.btfo foo.o
btfgen object --lang-exclude=rust -o lib.btfo lib.a
# read the names of the inputs from a file, one per line
btfgen object -o dir.btfo @inputs.params`,
	}, cli.Output|cli.Features|cli.Report)
	var r objectRun
	r.Define(flags)
	return flags.Command(r.run)
}

type objectRun struct {
	conversion.Flags
}

func (r *objectRun) run(env *cli.Env, paths []string) error {
	if err := conversion.CheckInline(env); err != nil {
		return err
	}
	options := r.Options(env)
	pipeline.RelaxHeap(paths)
	defer r.SplitDWARF.Close()
	run := report.Start(env, paths)
	defer run.Close()
	o, err := pipeline.Objects(r.Search(env), paths, r.Input, options, run, env.Error)
	if err != nil {
		return err
	}
	return run.WriteObject(o)
}
