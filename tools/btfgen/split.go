package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/rules-btf/rules_btf/internal/cli"
	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/encode"
	"github.com/rules-btf/rules_btf/internal/report"
	"github.com/rules-btf/rules_btf/internal/split"
)

// splitVerb is "btfgen split".
func splitVerb() cli.Verb {
	return cli.Verb{
		Name:    "split",
		Summary: "split the DWARF of a large ELF file or archive into small ELF files",
		Args:    "INPUT",
		Long: `
Writes N small ELF files, shards, for "btfgen object": each has a part of INPUT's compilation units,
and of these no more than BTF is made of. The objects of all shards, merged or linked, give what
INPUT as a whole gives.

A unit's shard is chosen by the name of its source file. A shard has no addresses, no code, no line
numbers and no directories; it depends on nothing but its own units and what these refer to. So
after an edit only the shards change whose units have changed.

With -n, -o names a new directory for the files: shard-1-of-8, ... Without -n, -o names a file, and
is repeated for each shard.`,
		Examples: []string{
			"btfgen split -n 8 -o shards --lang-exclude=rust vmlinux",
			"btfgen split -o one -o two vmlinux.a",
		},
		Required: []string{"output"},
		Flags:    cli.Report,
		Setup: func(flags *cli.FlagSet) cli.Run {
			r := new(splitRun)
			flags.StringArrayVarP(&r.outputs, "output", "o", nil,
				"the new directory to write, with -n; or a `FILE`, repeated for each shard, of which one may"+
					" be -, standard output")
			flags.NumberVarP(&r.shards, "shards", "n", 1, maxShards, "shards", "how many `shards`")
			encode.ExcludeVar(flags, &r.excluded)
			return func(env *cli.Env, args []string) error { return r.run(env, args[0]) }
		},
	}
}

// maxShards bounds the number of shards.
const maxShards = 4096

// splitRun is one run of the verb.
type splitRun struct {
	outputs  []string
	shards   int
	excluded map[uint64]bool
}

func (r *splitRun) run(env *cli.Env, path string) error {
	opt := split.Options{Shards: len(r.outputs), Jobs: env.Jobs, Excluded: r.excluded}
	if r.shards > 0 {
		opt.Shards = r.shards
		if len(r.outputs) > 1 {
			return cli.Usagef("-n with several -o: it is one directory, or a file for each shard")
		}
		if slices.Contains(r.outputs, "-") {
			return cli.Usagef("-o: standard output (-) is no directory; name one")
		}
	}
	if err := r.check(env, path); err != nil {
		return err
	}
	encode.RelaxHeap([]string{path})
	run := report.Start(env, []string{path})
	defer run.Close()
	inputs, err := elf.OpenInput(path)
	if err != nil {
		return err
	}
	if len(inputs) == 0 {
		return fmt.Errorf("%s: an archive without members", path)
	}
	if r.shards > 0 {
		return cli.WriteDir(r.outputs[0], func(dir string) error {
			return splitInto(run, inputs, opt, func(i int, file []byte) error {
				return os.WriteFile(filepath.Join(dir, shardName(i, opt.Shards)), file, 0o666)
			})
		})
	}
	return writeFiles(env, r.outputs, nil, func(writers []io.Writer) error {
		return splitInto(run, inputs, opt, func(i int, file []byte) error {
			_, err := writers[i].Write(file)
			return err
		})
	})
}

// check refuses outputs that are the input, or one another.
func (r *splitRun) check(env *cli.Env, path string) error {
	in, err := os.Stat(path)
	if err != nil {
		return err
	}
	seen := make(map[string]bool)
	for _, out := range r.outputs {
		if out == "" {
			return cli.Usagef("-o is empty; name a file")
		}
		clean := filepath.Clean(out)
		if seen[clean] {
			return cli.Usagef("two -o name one output, %s", out)
		}
		seen[clean] = true
		if env.Stats != "" && filepath.Clean(env.Stats) == clean {
			return cli.Usagef("-o and --stats name one output, %s", out)
		}
		if info, err := os.Stat(out); err == nil && os.SameFile(in, info) {
			return cli.Usagef("output %s is also an input (%s); write to another file", out, path)
		} else if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("output: %w", err)
		}
	}
	return nil
}

// shardName is the name of a shard, from 0, in a directory. All names have the same length, so that
// they sort.
func shardName(i, shards int) string {
	return fmt.Sprintf("shard-%0*d-of-%d", len(strconv.Itoa(shards)), i+1, shards)
}

// splitInto splits the inputs.
func splitInto(run *report.Run, inputs []elf.Input, opt split.Options,
	write func(i int, file []byte) error) error {
	phase := run.Phase("split", "units")
	opt.Progress = phase.Progress
	counts, err := split.Split(inputs, opt, write)
	if err != nil {
		return err
	}
	run.EndSplit(phase, counts.Units, opt.Shards)
	return run.Finish(counts.Bytes)
}

// writeFiles writes several files, all of them or none: write gets a writer for each.
func writeFiles(env *cli.Env, paths []string, open []io.Writer,
	write func([]io.Writer) error) error {
	if len(paths) == 0 {
		return write(open)
	}
	return env.WriteOutput(paths[0], func(w io.Writer) error {
		return writeFiles(env, paths[1:], append(open, w), write)
	})
}
