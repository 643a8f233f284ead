package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/conflict"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

func conflictsCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "conflicts FILE...",
		Short: "List the structs, unions, enums and typedefs that have several definitions",
		Long: `
For each name that the linked BTF would define several times, prints which files have which
definition, and where each definition first differs from the most common one:

    struct opts: 2 definitions
      A in 12 units: a.btfo (a.c), b.btfo (b.c), d.btfo (d.c) and 9 more files
      B in 1 unit: c.btfo (c.c)
      A vs B: member bar.baz: type long int vs int (size 24 vs 16)
      because of it, these differ too: struct dev, typedef dev_t

Definitions are compared as in a link, with forward declarations resolved. If a type differs only
because it refers to a type with several definitions, it is listed only in the last line about that
other type. Source files are in parentheses, if they are known. The output depends on the set of
files, not on their order.

FILE is a BTF object (.btfo) from "btfgen object" or "btfdedup merge", raw BTF, or an ELF file with
a .BTF section. With --base, a definition that differs from the one in the base is a conflict too;
conflicts within the base are not reported. docs/conflicts.md describes the output of --format=json.

Exit codes: 0 with or without conflicts; 1 for an unreadable file or, with --check, for a conflict;
2 for wrong usage.`,
		Example: `
btfdedup conflicts @objects.params
# fail a build that has conflicts
btfdedup conflicts --check net.btfo drivers.btfo
# what a module defines differently from the kernel
btfdedup conflicts --base vmlinux.btf module.btfo`,
	}, cli.Base)
	var r conflictsRun
	flags.FormatVar(&r.format)
	flags.BoolVar(&r.all, "all", false,
		"list all files and names, however many there are; JSON always lists all")
	flags.BoolVar(&r.check, "check", false, "exit with 1 if there is a conflict")
	return flags.Command(r.run)
}

type conflictsRun struct {
	format     string
	all, check bool
}

func (r *conflictsRun) run(env *cli.Env, files []string) error {
	base, err := relocate.ReadBases(env.Bases)
	if err != nil {
		return err
	}
	var bases []conflict.Base
	for i, b := range object.Chain(base) {
		bases = append(bases, conflict.Base{Path: env.Bases[i], Blob: b})
	}
	in := conflict.NewInputs()
	if err := readObjects(files, base, env.Jobs, in.Add); err != nil {
		return err
	}
	report, err := in.Find(bases)
	if err != nil {
		return fmt.Errorf("%s: %w", someOf(files), err)
	}
	if r.format == "json" {
		err = writeJSON(env.Stdout, report)
	} else {
		err = report.WriteText(env.Stdout, r.all)
	}
	if err != nil {
		return err
	}
	if r.check && len(report.Conflicts) > 0 {
		return cli.ErrNo
	}
	return nil
}

// readObjects calls use for the object in each file, in order. It reads at most jobs files
// concurrently.
func readObjects(files []string, base *btf.Blob, jobs int,
	use func(path string, o *object.Object) error) error {
	type result struct {
		reading parallel.Group
		o       *object.Object
		err     error
	}
	results := make([]*result, len(files))
	start := func(i int) {
		if i >= len(files) {
			return
		}
		r := &result{}
		results[i] = r
		r.reading.Go(func() { r.o, r.err = object.ReadFile(files[i], base) })
	}
	for i := range jobs {
		start(i)
	}
	for i, path := range files {
		r := results[i]
		results[i] = nil
		r.reading.Wait()
		if r.err != nil {
			return r.err
		}
		start(i + jobs)
		if err := use(path, r.o); err != nil {
			return err
		}
	}
	return nil
}
