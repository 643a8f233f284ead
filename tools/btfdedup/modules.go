package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/conversion"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/convert/compilerbtf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/pipeline"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

func modulesCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "modules KO|DIR...",
		Short: "Make the BTF of many modules in one go",
		Long: `
Writes OUT/NAME.btf for each NAME.ko: to the byte what "btfgen elf --base" makes of it. The base is
read once. For a directory, all files *.ko below it are read, or with --order those that a
modules.order of Kbuild lists, whose paths start at the directory.

--vmlinux also makes the base, OUT/vmlinux.btf, from a kernel's DWARF, as "btfgen elf" does.

--embed also writes copies of the modules with their BTF in the section .BTF, as "btfdedup embed"
does. A module that was found in a directory keeps its path below it. --into names a directory with
the same modules without DWARF, to copy in their place. The type ids in .BTF_ids are resolved as by
"btfdedup embed --resolve-ids", unless --keep-ids is given; then the BTF of vmlinux and of the
modules doesn't show implicit arguments of kfuncs. Modules with .BTF_ids need the BTF of the base.
If they were resolved before, --old-base is what their old .BTF is based on.

A module that can't be converted is an error; the others are still written, and all errors are
listed at the end. The files of one module appear together or not at all.

--skipped-dir writes lists of what is not encoded: SKIPPED/NAME.skipped for NAME.ko.

--variables selects variables if the feature global_var is on: percpu or all. --extra-dir puts those
that are not per CPU into separate split BTF, EXTRA/NAME-btf-extra.btf, which is based on
NAME.btf, as "btfgen elf --variables=extra" does; NAME.btf is then as without global_var. That needs
the BTF of the base.

--base is BTF, or an index from "btfdedup index", which is faster. Beside an index, --base-btf names
the BTF, which is read if a module needs it.`,
		Example: `
btfdedup modules --base vmlinux.btf -o btf kernel/*.ko
# those of a kernel that Kbuild has built
btfdedup modules --base vmlinux.btfbase -o btf --order linux/modules.order linux
# some modules with their BTF, quickly
btfdedup modules --base vmlinux.btfbase --base-btf vmlinux.btf -o btf --embed out a.ko b.ko
# a whole kernel, with the BTF in the modules
btfdedup modules --vmlinux linux/vmlinux -o btf --embed modules linux
# all variables of a whole kernel, those that are not per CPU in their own BTF
btfdedup modules --features=+global_var --vmlinux vmlinux -o btf --extra-dir extra linux`,
	}, cli.OutputDir|cli.Base|cli.Features|cli.Report)
	flags.NoStdin = "the name of its file is that of the module"
	b := &batch{}
	b.conversion.Define(flags)
	flags.InputVar(&b.vmlinux, "vmlinux", "also make the base, from the DWARF of `FILE`")
	flags.InputsVar(&b.baseBTF, "base-btf",
		"the BTF `FILE` of the index --base; repeat it like --base")
	flags.InputVar(&b.order, "order", "read only the modules that `FILE` lists, a modules.order")
	flags.OutputDirVar(&b.skippedDir, "skipped-dir",
		"write lists of what is not encoded to the directory `SKIPPED`")
	flags.Var(&b.variables.Which, "variables", "`which` variables of the feature"+
		" global_var to encode: percpu or all; the default is what the features say")
	flags.OutputDirVar(&b.extraDir, "extra-dir",
		"write split BTF of the variables that are not per CPU to the directory `EXTRA`")
	b.embedding.define(flags)
	return flags.Command(b.run)
}

// batch is one run of "btfdedup modules".
type batch struct {
	conversion     conversion.Flags
	variables      pipeline.Variables
	vmlinux, order string
	baseBTF        []string
	skippedDir     string
	extraDir       string
	embedding      embedding

	env       *cli.Env
	making    pipeline.Batch
	bases     *base.Files
	whole     func() (*base.Files, error) // bases with --base-btf, which is read once
	report    *report.Run
	made      []string    // directories that were not there
	ofVmlinux report.Made // the base, with --vmlinux
	ofModules report.Made // the modules
}

func (b *batch) run(env *cli.Env, args []string) error {
	b.env = env
	switch {
	case len(env.Bases) == 0 && b.vmlinux == "":
		return cli.Usagef("--base FILE is missing: the kernel's BTF, or an index of it;" +
			" or --vmlinux FILE, to make that too")
	case len(env.Bases) != 0 && b.vmlinux != "":
		return cli.Usagef("--base and --vmlinux contradict each other")
	case len(b.baseBTF) != 0 && len(b.baseBTF) != len(env.Bases):
		return cli.Usagef("--base-btf is given %d times, and --base %d times: it names the BTF of each",
			len(b.baseBTF), len(env.Bases))
	}
	if err := b.embedding.check(); err != nil {
		return err
	}
	b.variables.Apart = b.extraDir != ""
	if err := conversion.CheckApart(b.variables, env.Features, "--extra-dir"); err != nil {
		return err
	}
	modules, err := findModules(args, b.order, b.embedding.into)
	if err != nil {
		return err
	}
	if err := b.embedding.checkOutputs(modules); err != nil {
		return err
	}
	paths := []string{}
	for _, m := range modules {
		paths = append(paths, m.path)
	}
	b.report = report.Start(env, paths)
	defer b.report.Close()
	defer b.removeEmpty()
	if err := b.openBase(); err != nil {
		return err
	}
	defer b.bases.Close()
	if err := b.makeDirs(); err != nil {
		return err
	}
	pipeline.RaiseHeap()
	phase := b.report.Phase("modules", "modules")
	errs := b.all(modules, phase.Progress)
	b.report.EndMade(phase, &b.ofModules)
	if err := b.report.Finish(int(b.ofVmlinux.Total() + b.ofModules.Total())); err != nil {
		return err
	}
	return b.listed(errs)
}

// openBase reads the bases, or makes the base of vmlinux.
func (b *batch) openBase() error {
	if b.vmlinux != "" {
		return b.makeBase()
	}
	opened, err := base.Open(b.env.Bases)
	if err != nil {
		return err
	}
	b.bases = opened
	b.whole = sync.OnceValues(func() (*base.Files, error) {
		if len(b.baseBTF) == 0 || opened.Index == "" {
			return opened, nil
		}
		return opened.WithBTF(b.baseBTF)
	})
	if b.extraDir == "" {
		return nil
	}
	whole, err := b.whole()
	if err == nil {
		err = whole.NeedBTF("--extra-dir")
	}
	if err != nil {
		opened.Close()
		return err
	}
	b.bases = whole
	return nil
}

// makeBase makes the BTF of vmlinux.
func (b *batch) makeBase() error {
	phase := b.report.Phase("vmlinux", "units")
	explicit := func(data []byte) ([]byte, error) {
		return b.embedding.ofVmlinux(b.env, b.vmlinux, data)
	}
	how := b.how(&base.Files{})
	how.Change, how.Convert.Progress = explicit, phase.Progress
	result, err := pipeline.Linked(b.vmlinux, how)
	if linked, ok := errors.AsType[*compilerbtf.LinkedError](err); ok {
		return fmt.Errorf("%s: it has no DWARF, but BTF that was linked before (%s): give it as --base "+
			"in place of --vmlinux", b.vmlinux, linked.Why)
	}
	if err != nil {
		return err
	}
	if err := b.report.AddMade(&b.ofVmlinux, nil, result.Result, result.Extra); err != nil {
		return err
	}
	b.report.EndVmlinux(phase, &b.ofVmlinux)
	if b.bases, err = new(base.Files).With(result.BTF); err != nil {
		return fmt.Errorf("%s: %w", b.vmlinux, err)
	}
	b.whole = func() (*base.Files, error) { return b.bases, nil }
	if err := b.makeDirs(); err != nil {
		return err
	}
	return b.env.WriteOutputs(b.outputs("vmlinux", result)...)
}

// makeDirs makes the directories to write to.
func (b *batch) makeDirs() error {
	for _, dir := range []string{b.env.Output, b.skippedDir, b.extraDir} {
		if dir == "" {
			continue
		}
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			b.made = append(b.made, dir)
		}
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return fmt.Errorf("output: %w", err)
		}
	}
	return nil
}

// removeEmpty removes directories that were made and have got no file.
func (b *batch) removeEmpty() {
	for _, dir := range b.made {
		os.Remove(dir) // fails if there is a file in it
	}
}

// all makes the BTF of all modules, and returns their errors.
func (b *batch) all(modules []module, progress func(done, all int)) []error {
	names := make([]string, len(modules))
	for i := range modules {
		names[i] = modules[i].path
	}
	return parallel.Each(b.env.Jobs, names, func(i int) error { return b.module(&modules[i]) }, progress)
}

// module makes the BTF of one module, and a module with it.
func (b *batch) module(m *module) error {
	var into *target
	how := b.how(b.bases)
	if b.embedding.dir != "" {
		defer func() { into.close() }()
		how.Change = func(data []byte) (_ []byte, err error) {
			into, data, err = b.embedding.prepare(b.env, m, data, b.whole)
			return data, err
		}
	}
	result, err := b.making.Linked(m.path, how)
	if err != nil {
		return err
	}
	outputs := b.outputs(m.name, result)
	if into != nil {
		embedded, err := b.embedding.artifact(m, into)
		if err != nil {
			return err
		}
		outputs = append(outputs, embedded)
	}
	if err := b.env.WriteOutputs(outputs...); err != nil {
		return err
	}
	return b.report.AddMade(&b.ofModules, b.bases.BTF, result.Result, result.Extra)
}

// how says how a file's BTF on these bases is made.
func (b *batch) how(bases *base.Files) pipeline.How {
	return pipeline.How{Files: b.conversion.Search(b.env), Bases: bases,
		Convert: b.conversion.Options(b.env), Variables: b.variables}
}

// outputs are the BTF of a module, that of the variables that are not in it, and the lists of what
// is in neither.
func (b *batch) outputs(name string, result *pipeline.Result) []cli.Artifact {
	outputs := b.files(b.env.Output, name, result.Result)
	if result.Extra != nil {
		outputs = append(outputs, b.files(b.extraDir, name+"-btf-extra", result.Extra)...)
	}
	return outputs
}

// files are BTF in a directory, and what is not in it in that of --skipped-dir.
func (b *batch) files(dir, name string, result *link.Result) []cli.Artifact {
	files := []cli.Artifact{
		{Path: filepath.Join(dir, name+".btf"), File: cli.Bytes(result.BTF)},
	}
	if b.skippedDir != "" {
		files = append(files, cli.Artifact{Path: filepath.Join(b.skippedDir, name+".skipped"),
			File: result.WriteSkipped})
	}
	return files
}

// listed prints all but the last of the modules' errors, and returns that one.
func (b *batch) listed(errs []error) error {
	modules := len(errs)
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) > 1 {
		errs = append(errs, fmt.Errorf("%d of %d modules failed", len(errs), modules))
	}
	for i, err := range errs {
		if i == len(errs)-1 {
			return err
		}
		b.env.Error(err)
	}
	return nil
}
