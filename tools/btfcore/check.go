package main

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/programs/check"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

func checkCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "check KERNEL...",
		Short: "Report whether BPF programs load on kernels, and if not, why",
		Long: `
Prints a verdict for each program and kernel, followed by what the kernel lacks. The verdicts are:

    loads   the kernel has everything that the program needs
    partly  the program loads, but the kernel lacks something optional: a weak symbol; something
            for which the program tests, for example with bpf_core_field_exists; or something
            that the program uses only for certain values in .rodata or .kconfig, or only if a
            weak symbol exists
    fails   libbpf or the verifier refuses the program

libbpf resolves all external symbols of an object file before it loads any of its programs. So if
the kernel lacks a kfunc that isn't weak, all programs of that file fail, even those that don't use
it. Lines with "unchecked:" list external symbols that BTF doesn't show: values of the kernel's
configuration, and addresses.

A struct_ops map has its own line, with the name of the map's variable.

The verdict follows libbpf's rules and the kernel's BTF. A kernel may refuse a program for reasons
that BTF doesn't show: missing helpers or kprobe functions, verifier limits, or its configuration.
` + aboutKernels + `

Exit codes: 0 if all programs load, 1 if one fails or a file can't be read, 2 for wrong usage. With
--expect, the exit code is 0 if exactly the programs listed in FILE fail. Each line of FILE has a
kernel's name, a space and a program's name. Lines that begin with # are comments.`,
		Example: `
btfcore check --needs agent.needs /sys/kernel/btf/vmlinux
btfcore check --needs agent.needs --format=html -o table.html btfhub-archive/debian`,
	}, cli.Printed|cli.Report)
	r := checkRun{format: "text"}
	flags.InputsVar(&r.needs, "needs", "a `FILE` with the needs of programs, from \"btfcore needs\"; "+
		"repeat the flag for several files")
	flags.MarkRequired("needs")
	flags.InputsVar(&r.modules, "module", "the `[NAME=]FILE` of a module, or a directory with "+
		"modules; "+
		"allowed only with a single KERNEL; repeat the flag for several")
	flags.ChoiceVar(&r.format, "format", "the output `FORMAT`: text, json, or html (a page with a "+
		"table of "+
		"programs and kernels)", "text", "json", "html")
	flags.InputVar(&r.expect, "expect", "the `FILE` that lists the programs that are expected to fail")
	flags.MaxDecompressedVar(&r.maxDecompressed)
	return flags.Command(r.run)
}

// checkRun holds the flags of one run of "check".
type checkRun struct {
	needs, modules  []string
	format, expect  string
	maxDecompressed int
}

func (r *checkRun) run(env *cli.Env, args []string) error {
	list, err := readAllNeeds(r.needs)
	if err != nil {
		return err
	}
	var expected []check.Failure
	if r.expect != "" {
		if expected, err = check.ReadFailures(r.expect); err != nil {
			return err
		}
	}
	files, err := findKernels(args)
	if err != nil {
		return err
	}
	if len(r.modules) > 0 && len(files) != 1 {
		return cli.Usagef("--module is for one kernel, not %d", len(files))
	}
	run := report.Start(env, args)
	defer run.Close()
	rows := make([][]check.Row, len(files))
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.path
	}
	phase := run.Phase("kernels", "kernels")
	errs := parallel.Each(env.Jobs, names, func(i int) (err error) {
		rows[i], err = r.rows(files[i], list)
		return err
	}, phase.Progress)
	done, failures := printErrors(env, errs)
	if !done {
		return failures
	}
	table := check.Table{Rows: slices.Concat(rows...)}
	var text bytes.Buffer
	if err := table.Write(&text, r.format); err != nil {
		return err
	}
	err = run.Finish(cli.Artifact{Path: env.Output, File: cli.Bytes(text.Bytes())})
	if err != nil {
		return err
	}
	switch {
	case failures != nil:
		return failures
	case r.expect != "":
		return table.Compare(expected)
	case table.Fails():
		return cli.ErrNo
	}
	return nil
}

// rows returns the verdicts on the kernels in a file.
func (r *checkRun) rows(file kernelFile, list []*needs.Needs) ([]check.Row, error) {
	kernels, err := file.read(list[0], r.maxDecompressed)
	if err != nil {
		return nil, err
	}
	var rows []check.Row
	for i := range kernels {
		k := &kernels[i]
		if err := k.addModules(r.modules, r.maxDecompressed); err != nil {
			return nil, err
		}
		indexed := k.Index(needs.Names(list...))
		for _, n := range list {
			results, err := check.Kernel(indexed, n)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file.path, err)
			}
			for _, result := range results {
				rows = append(rows, check.Row{Kernel: k.name, Result: result})
			}
		}
	}
	return rows, nil
}
