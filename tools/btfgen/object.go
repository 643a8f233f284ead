package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/cli"
	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/encode"
	"github.com/rules-btf/rules_btf/internal/object"
	"github.com/rules-btf/rules_btf/internal/report"
)

// objectVerb is "btfgen object".
func objectVerb() cli.Verb {
	return cli.Verb{
		Name:    "object",
		Summary: "convert the DWARF of one object file or archive into a BTF object",
		Args:    "INPUT",
		Long: `
Reads an object file, an archive of them (thin ones too) or a linked file, and writes a BTF object
(.btfo) for "btfdedup merge" and "btfdedup link". The output doesn't depend on addresses, line
numbers, paths or the order in which the source declares things.

A large linked file can be converted in parts: --shard=I/N takes the I-th of N similarly large
parts of its compilation units, and --each-unit writes an object for each unit. All of these
objects, merged or linked, give what the file as a whole gives.`,
		Examples: []string{
			"btfgen object -o foo.btfo foo.o",
			"btfgen object --lang-exclude=rust -o lib.btfo lib.a",
			"# one of eight parts of a kernel",
			"btfgen object --shard=3/8 -o 3.btfo vmlinux",
		},
		Flags: cli.Output | cli.Features | cli.Report,
		Setup: func(flags *cli.FlagSet) cli.Run {
			var r objectRun
			r.Define(flags)
			flags.StringVar(&r.shard, "shard", "",
				"convert the `I/N`-th part of the compilation units only, 1/N to N/N")
			flags.InsteadOfOutputVar(&r.each, "each-unit",
				"write an object for each compilation unit to the new directory `DIR`, in place of -o:"+
					" 00000.btfo is of the file's first one")
			return func(env *cli.Env, args []string) error { return r.run(env, args[0]) }
		},
	}
}

// objectRun is one run of the verb.
type objectRun struct {
	encode.Flags
	shard, each string
}

func (r *objectRun) run(env *cli.Env, path string) error {
	options, err := r.Options(env)
	if err != nil {
		return err
	}
	relaxHeap(path)
	if r.shard != "" {
		if options.Shard, err = convert.ParseShard(r.shard); err != nil {
			return cli.Usagef("%v", err)
		}
	}
	run := report.Start(env, []string{path})
	defer run.Close()
	if r.each != "" {
		return writeUnits(run, r.each, path, options)
	}
	o, err := convertInput(run, path, options)
	if err != nil {
		return err
	}
	return run.WriteObject(o)
}

// writeUnits writes an object of each unit of the file at path to the directory dir.
func writeUnits(run *report.Run, dir, path string, options convert.Options) error {
	return run.Finish(0, cli.Artifact{Path: dir, Dir: func(temp string) error {
		var size atomic.Int64
		options.Each = func(number int, o *object.Object) error {
			data, err := object.Write(o)
			if err != nil {
				return err
			}
			size.Add(int64(len(data)))
			return os.WriteFile(filepath.Join(temp, fmt.Sprintf("%05d.btfo", number)), data, 0o666)
		}
		_, err := convertInput(run, path, options)
		run.Stats.Output.Bytes = size.Load()
		return err
	}})
}

// convertInput converts an ELF file or the members of an archive.
func convertInput(run *report.Run, path string, options convert.Options) (*object.Object, error) {
	members, err := elf.OpenInput(path)
	if err != nil {
		return nil, err
	}
	if len(members) == 0 {
		return nil, fmt.Errorf("%s: an archive without members", path)
	}
	if len(members) > 1 && (options.Shard.Count > 0 || options.Each != nil) {
		return nil, fmt.Errorf("%s: an archive of %d members;"+
			" --shard and --each-unit are for one file's units", path, len(members))
	}
	var phase *report.Phase
	if len(members) == 1 {
		phase = run.Phase("convert", "units")
		options.Progress = phase.Progress
	} else {
		phase = run.Phase("convert", "members")
	}
	m := object.NewMerger()
	var o *object.Object
	for i, member := range members {
		f, err := member.Open()
		if err != nil {
			return nil, err
		}
		f.Threads = options.Jobs
		o, err = convert.File(f, options)
		f.Close()
		if err != nil {
			return nil, err
		}
		if len(members) > 1 {
			if err := m.Add(member.Label, o); err != nil {
				return nil, err
			}
			phase.Progress(i+1, len(members))
		}
	}
	if len(members) > 1 {
		o = m.Object()
	}
	run.EndConvert(phase, options.Counts, o)
	return o, nil
}
