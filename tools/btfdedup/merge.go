package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

func mergeCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "merge FILE...",
		Short: "Merge BTF objects into one",
		Long: `
Writes the union of BTF objects as one BTF object. The bytes depend only on the set of inputs: any
order and any tree of merges give the same bytes. A merge leaves nothing out, unlike a link.

FILE is a BTF object (.btfo) from "btfgen object" or "btfdedup merge", raw BTF, or an ELF file with
a .BTF section, such as an object from gcc -gbtf. All inputs must be for the same target, and made
with the same --features.`,
		Example: `
btfdedup merge -o net.btfo net/*.btfo
# read the names of the inputs from a file, one per line
btfdedup merge -o all.btfo @inputs.params`,
	}, cli.Output|cli.Base|cli.Report)
	return flags.Command(runMerge)
}

func runMerge(env *cli.Env, files []string) error {
	run := report.Start(env, files)
	defer run.Close()
	base, err := relocate.ReadBases(env.Bases)
	if err != nil {
		return err
	}
	o, err := readAll(env, run, files, base)
	if err != nil {
		return err
	}
	return run.WriteObject(o)
}

// readAll reads and merges files, as a phase of the run.
func readAll(env *cli.Env, run *report.Run, files []string,
	base *btf.Blob) (*object.Object, error) {
	phase := run.Phase("read", "files")
	o, err := object.MergeFiles(files, base, env.Jobs, phase.Progress)
	if err != nil {
		return nil, err
	}
	run.EndRead(phase, len(files), o)
	return o, nil
}

// someOf lists the first few files for an error message.
func someOf(files []string) string { return strings.Join(files[:min(len(files), 3)], ", ") }
