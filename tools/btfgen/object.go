package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/cli"
	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/encode"
	"github.com/rules-btf/rules_btf/internal/object"
	"github.com/rules-btf/rules_btf/internal/report"
)

// objectVerb is "btfgen object".
func objectVerb() cli.Verb {
	return cli.Verb{
		Name:    "object",
		Summary: "convert the debugging information of object files and archives into one BTF object",
		Args:    "INPUT...",
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
--alt and --debug-dir say where, as with "btfgen elf".

A large linked file can be converted in parts: --shard=I/N takes the I-th of N similarly large
parts of its compilation units, and --each-unit writes an object for each unit. All of these
objects, merged or linked, give what the file as a whole gives.`,
		Examples: []string{
			"btfgen object -o foo.btfo foo.o",
			"btfgen object --lang-exclude=rust -o lib.btfo lib.a",
			"# the inputs from a file, one a line",
			"btfgen object -o dir.btfo @inputs.params",
			"# one of eight parts of a kernel",
			"btfgen object --shard=3/8 -o 3.btfo vmlinux",
		},
		Flags:  cli.Output | cli.Features | cli.Report,
		Worker: true,
		Setup: func(flags *cli.FlagSet) cli.Run {
			var r objectRun
			r.Define(flags)
			r.Files.DefineDWARF(flags)
			flags.Func("shard", "convert the `I/N`-th part of the compilation units only, 1/N to N/N",
				func(s string) (err error) {
					r.shard, err = convert.ParseShard(s)
					return err
				})
			flags.InsteadOfOutputVar(&r.each, "each-unit",
				"write an object for each compilation unit to the new directory `DIR`, in place of -o:"+
					" 00000.btfo is of the file's first one")
			return func(env *cli.Env, args []string) error { return r.run(env, args) }
		},
	}
}

// objectRun is one run of the verb.
type objectRun struct {
	encode.Flags
	shard convert.Shard
	each  string
}

func (r *objectRun) run(env *cli.Env, paths []string) error {
	options := r.Options(env)
	if !env.Worker {
		encode.RelaxHeap(paths)
	}
	if len(paths) > 1 && (r.shard.Count > 0 || r.each != "") {
		return cli.Usagef("%d inputs are given; --shard and --each-unit are for one file's units",
			len(paths))
	}
	if len(paths) > 1 && r.Files.DWARF != "" {
		return cli.Usagef("%d inputs are given; --dwarf is the debug file of one", len(paths))
	}
	options.Shard = r.shard
	defer r.Split.Close()
	run := report.Start(env, paths)
	defer run.Close()
	if r.each != "" {
		return r.writeUnits(env, run, paths[0], options)
	}
	o, err := convertInputs(env, run, r.Search(env), paths, options)
	if err != nil {
		return err
	}
	return run.WriteObject(o)
}

// writeUnits writes an object of each unit of the file at path to the directory of --each-unit.
func (r *objectRun) writeUnits(env *cli.Env, run *report.Run, path string,
	options convert.Options) error {
	return run.Finish(0, cli.Artifact{Path: r.each, Dir: func(temp string) error {
		var size atomic.Int64
		options.Each = func(number int, o *object.Object) error {
			data, err := object.Write(o)
			if err != nil {
				return err
			}
			size.Add(int64(len(data)))
			return os.WriteFile(filepath.Join(temp, fmt.Sprintf("%05d.btfo", number)), data, 0o666)
		}
		_, err := convertInputs(env, run, r.Search(env), []string{path}, options)
		run.Stats.Output.Bytes = size.Load()
		return err
	}})
}
