package main

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/internal/cli"
	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/object"
	"github.com/rules-btf/rules_btf/internal/report"
)

// objectVerb is "btfgen object".
func objectVerb() cli.Verb {
	return cli.Verb{
		Name:    "object",
		Summary: "convert the DWARF of one object file or archive into a BTF object",
		Args:    "INPUT",
		Long: `Reads an object file, an archive of them (thin ones too) or a linked file, and writes a BTF object (.btfo) for
"btfdedup merge" and "btfdedup link". The output doesn't depend on addresses, line numbers, paths or the order in which
the source declares things.`,
		Examples: []string{
			"btfgen object -o foo.btfo foo.o",
			"btfgen object --lang-exclude=rust -o lib.btfo lib.a",
		},
		Setup: func(flags *pflag.FlagSet) cli.Run {
			c := conversionFlags(flags, "BTF object")
			return func(env *cli.Env, args []string) error {
				options, err := c.options(env, "object", args)
				if err != nil {
					return err
				}
				run, err := c.report.Start(env, report.Job{Verb: "object", Threads: options.Jobs, Inputs: args, Outputs: []string{*c.output}})
				if err != nil {
					return err
				}
				defer run.Close()
				merged, err := convertInput(run, args[0], options)
				if err != nil {
					return err
				}
				phase := run.Phase("write", "")
				data, err := object.Write(merged)
				if err != nil {
					return err
				}
				if err := run.EndWrite(phase, data); err != nil {
					return err
				}
				if err := run.Finish(len(data)); err != nil {
					return err
				}
				return env.WriteOutput(*c.output, func(w io.Writer) error {
					_, err := w.Write(data)
					return err
				})
			}
		},
	}
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
	var phase *report.Phase
	if len(members) == 1 {
		phase = run.Phase("convert", "units")
		options.Progress = phase.Progress
	} else {
		phase = run.Phase("convert", "members")
	}
	m := object.NewMerger()
	for i, member := range members {
		f, err := member.Open()
		if err != nil {
			return nil, err
		}
		parts, err := convert.File(f, options)
		f.Close()
		if err != nil {
			return nil, err
		}
		if err := m.Add(member.Label, object.Join(parts)); err != nil {
			return nil, err
		}
		if len(members) > 1 {
			phase.Progress(i+1, len(members))
		}
	}
	o := m.Object()
	run.EndConvert(phase, options.Counts, o)
	return o, nil
}
