package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
		Use:   "modules KO|DIR|ARCHIVE...",
		Short: "Make the BTF of many modules in one go",
		Long: `
Writes OUT/NAME.btf for each NAME.ko, byte for byte what "btfgen elf --base" produces. The base is
read only once. For a directory, all files *.ko below it are read. With --order, only the modules
listed in Kbuild's modules.order are read; it has paths relative to the directory. An archive of
modules is read like a directory: a file .tar, .tar.gz, .tgz, .tar.xz, .tar.zst, .deb or .rpm, whose
modules may be compressed (.ko.xz, .ko.zst, .ko.gz).

--vmlinux also makes the base, OUT/vmlinux.btf, from a kernel's DWARF, as "btfgen elf" does.

--embed also writes copies of the modules with their BTF in the section .BTF, as "btfdedup embed"
does. The copy of a module that was found in a directory keeps its path below that directory. With
--into DIR, the modules with the same names below DIR are copied instead; they need no DWARF, and
may be compressed (.ko.xz, .ko.zst, .ko.gz); the copies are not compressed.

With --embed, the type ids in .BTF_ids are resolved as "btfdedup embed --resolve-ids" does, and the
BTF of vmlinux and of the modules doesn't show implicit arguments of kfuncs. To resolve ids, the BTF
of the base is needed, not only an index. --keep-ids leaves the ids as they are. If the ids are
already resolved, --old-base names the BTF on which the old .BTF is based; the default is the
section .BTF of --vmlinux, if there is one, or else --base.

A module that can't be converted is an error; the BTF of the other modules is still written, and all
errors are listed at the end. The files of one module appear together or not at all.

For each NAME.ko, --skipped-dir writes SKIPPED/NAME.skipped, a list of what is not encoded.

If the feature global_var is on, --variables=percpu encodes only per-CPU variables, and
--variables=all encodes all variables. --extra-dir puts the variables that are not per CPU into
separate split BTF, EXTRA/NAME-btf-extra.btf, which is based on NAME.btf, as "btfgen elf
--variables=extra" does. NAME.btf is then the same as if the feature were off. --extra-dir needs the
BTF of the base, not only an index.

--inline-dir writes INLINE/NAME.inline.btf: split BTF of the sites at which functions were inlined,
which is based on NAME.btf, as "btfgen inline" does. It needs the BTF of the base too. With --embed,
the copy of a module that has sites also has them, in the section .BTF.inline.

--base is BTF, or an index from "btfdedup index", which is faster. With an index, --base-btf names
the BTF from which the index was made; that BTF is read only if a module needs it.`,
		Example: `
btfdedup modules --base vmlinux.btf -o btf kernel/*.ko
# the modules of a kernel that Kbuild has built
btfdedup modules --base vmlinux.btfbase -o btf --order linux/modules.order linux
# copies of two modules with their BTF, quickly, with an index
btfdedup modules --base vmlinux.btfbase --base-btf vmlinux.btf -o btf --embed out a.ko b.ko
# a whole kernel, with the BTF in the modules
btfdedup modules --vmlinux linux/vmlinux -o btf --embed modules linux
# all variables of a whole kernel; those that are not per CPU are in separate BTF
btfdedup modules --features=+global_var --vmlinux vmlinux -o btf --extra-dir extra linux`,
	}, cli.OutputDir|cli.Base|cli.Features|cli.Report)
	flags.NoStdin = "the name of a module comes from its file name"
	b := &batch{}
	b.conversion.Define(flags)
	flags.InputVar(&b.vmlinux, "vmlinux", "also make the base, from the DWARF of `FILE`")
	flags.InputsVar(&b.baseBTF, "base-btf",
		"the BTF `FILE` from which the index in --base was made; repeat the flag like --base")
	flags.InputVar(&b.order, "order", "read only the modules listed in `FILE`, Kbuild's modules.order")
	flags.OutputDirVarP(&b.skippedDir, "skipped-dir", "",
		"write lists of what is not encoded to the directory `SKIPPED`")
	flags.Var(&b.variables, "variables", "`which` variables to encode with the feature "+
		"global_var: \"percpu\" or \"all\"; the default depends on the features")
	flags.OutputDirVarP(&b.extraDir, "extra-dir", "",
		"write split BTF of the variables that are not per CPU to the directory `EXTRA`")
	flags.OutputDirVarP(&b.inlineDir, "inline-dir", "",
		"write split BTF of the sites where functions were inlined to the directory `INLINE`")
	b.embedding.define(flags)
	return flags.Command(b.run)
}

type batch struct {
	conversion     conversion.Flags
	variables      link.Which
	vmlinux, order string
	baseBTF        []string
	skippedDir     string
	extraDir       string
	inlineDir      string
	embedding      embedding

	env      *cli.Env
	making   pipeline.Batch
	bases    *base.Files
	whole    func() (*base.Files, error) // the bases and the BTF of --base-btf, read once
	report   *report.Run
	madeDirs []string // directories that this run made
	tally    *tally
}

func (b *batch) run(env *cli.Env, args []string) error {
	b.env = env
	switch {
	case len(env.Bases) == 0 && b.vmlinux == "":
		return cli.Usagef("--base FILE is missing: the BTF of the kernel, or an index of it;" +
			" or use --vmlinux FILE to make that BTF too")
	case len(env.Bases) != 0 && b.vmlinux != "":
		return cli.Usagef("--base and --vmlinux can't be used together")
	case len(b.baseBTF) != 0 && len(b.baseBTF) != len(env.Bases):
		return cli.Usagef("--base-btf is given %d times, but --base %d times; pass one for each",
			len(b.baseBTF), len(env.Bases))
	}
	if err := conversion.CheckInline(env); err != nil {
		return err
	}
	if err := b.embedding.check(); err != nil {
		return err
	}
	err := conversion.CheckApart(b.variables, b.extraDir != "", env.Features, "--extra-dir")
	if err != nil {
		return err
	}
	args, remove, err := unpackArchives(env, args, 0)
	defer remove()
	if err != nil {
		return err
	}
	modules, err := findModules(env, args, b.order, b.embedding.into)
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
	b.tally = &tally{modules: len(modules)}
	b.report = report.Start(env, paths)
	defer b.report.Close()
	b.report.OnInterrupt(b.tally.sofar)
	defer b.removeEmpty()
	if err := b.openBase(); err != nil {
		return b.tally.explain(err)
	}
	defer b.bases.Close()
	if b.embedding.dir != "" {
		warnOfChain(env)
	}
	if err := b.makeDirs(); err != nil {
		return err
	}
	phase := b.report.Phase("modules", "modules")
	errs := b.makeAll(modules, phase.Progress)
	phase.EndMade(&b.tally.ofModules)
	b.report.Made(b.tally.made(env.Output))
	err = b.report.Finish()
	doubts := []string{}
	for i := range modules {
		if m := &modules[i]; m.doubt != "" {
			doubts = append(doubts, m.path+": "+m.doubt)
		}
	}
	warnOfBases(env, doubts, len(modules))
	failed := b.tally.printErrors(env, errs)
	if failed == nil {
		return err
	}
	if err != nil && !b.tally.diskFull.Load() {
		env.Error(err)
	}
	return failed
}

// openBase reads the bases, or makes the base from vmlinux.
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
	needs := "--extra-dir"
	switch {
	case b.inlineDir != "":
		needs = "--inline-dir"
	case b.extraDir == "":
		return nil
	}
	whole, err := b.whole()
	if err == nil {
		err = whole.NeedBTF(needs)
	}
	if err != nil {
		opened.Close()
		return err
	}
	b.bases = whole
	return nil
}

func (b *batch) makeBase() error {
	phase := b.report.Phase("vmlinux", "units")
	explicit := func(data []byte) ([]byte, error) {
		return b.embedding.ofVmlinux(b.env, b.vmlinux, data)
	}
	how := b.settings(&base.Files{})
	how.Convert.Progress = phase.Progress
	how.Passes = append(how.Passes, pipeline.Change(explicit))
	result, err := pipeline.Linked(b.vmlinux, how)
	if linked, ok := errors.AsType[*compilerbtf.LinkedError](err); ok {
		return fmt.Errorf("%s: it has no DWARF, but BTF that is already linked (%s): pass the file "+
			"as --base instead of --vmlinux", b.vmlinux, linked.Why)
	}
	if err != nil {
		return err
	}
	if err := b.report.AddMade(&b.tally.ofVmlinux, nil, result.Result, result.Extra); err != nil {
		return err
	}
	phase.EndMade(&b.tally.ofVmlinux)
	if b.bases, err = new(base.Files).With(result.BTF); err != nil {
		return fmt.Errorf("%s: %w", b.vmlinux, err)
	}
	b.bases.Release = result.Release
	b.whole = func() (*base.Files, error) { return b.bases, nil }
	if err := b.makeDirs(); err != nil {
		return err
	}
	return b.report.WriteOutputs(b.outputs("vmlinux", result)...)
}

func (b *batch) makeDirs() error {
	for _, dir := range []string{b.env.Output, b.skippedDir, b.extraDir, b.inlineDir} {
		if dir == "" {
			continue
		}
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			b.madeDirs = append(b.madeDirs, dir)
		}
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return fmt.Errorf("output: %w", err)
		}
	}
	return nil
}

// removeEmpty removes directories that this run made and that are still empty.
func (b *batch) removeEmpty() {
	for _, dir := range b.madeDirs {
		os.Remove(dir) // fails if there is a file in it
	}
}

// makeAll makes the BTF of all modules, and returns their errors.
func (b *batch) makeAll(modules []module, progress func(done, all int)) []error {
	names := make([]string, len(modules))
	for i := range modules {
		names[i] = modules[i].path
	}
	return parallel.Each(b.env.Jobs, names, func(i int) error {
		return b.tally.add(func() error { return b.module(&modules[i]) })
	}, progress)
}

// module makes the BTF of one module and, with --embed, a copy of the module that contains the BTF.
func (b *batch) module(m *module) error {
	var into *target
	how := b.settings(b.bases)
	if b.embedding.dir != "" {
		defer func() { into.close() }()
		how.Passes = append(how.Passes, pipeline.Change(func(data []byte) (_ []byte, err error) {
			into, data, err = b.embedding.prepare(b.env, m, data, b.whole)
			return data, err
		}))
	}
	result, err := b.making.Linked(m.path, how)
	if linked, ok := errors.AsType[*compilerbtf.LinkedError](err); ok {
		return fmt.Errorf("%s: it has no DWARF, but BTF that is already linked (%s): pass the module "+
			"from the package with debug symbols; to copy this one, add --embed and --into",
			m.path, linked.Why)
	}
	if err != nil {
		return err
	}
	m.doubt = result.Doubt
	outputs := b.outputs(m.name, result)
	if into != nil {
		embedded, err := b.embedding.artifact(m, into, result)
		if err != nil {
			return err
		}
		outputs = append(outputs, embedded)
	}
	if err := b.report.WriteOutputs(outputs...); err != nil {
		return err
	}
	return b.report.AddMade(&b.tally.ofModules, b.bases.BTF, result.Result, result.Extra)
}

// settings returns the settings for making the BTF of a file on these bases.
func (b *batch) settings(bases *base.Files) pipeline.How {
	how := pipeline.How{Files: b.conversion.Search(b.env), Bases: bases, Input: b.conversion.Input,
		Convert: b.conversion.Options(b.env), Variables: b.variables}
	if b.inlineDir != "" {
		how.Passes = append(how.Passes, pipeline.Sites{})
	}
	if b.extraDir != "" {
		how.Passes = append(how.Passes, pipeline.Extra{})
	}
	return how
}

// outputs returns the output files for a module: its BTF, the extra BTF of its other variables, and
// the lists of what is not encoded.
func (b *batch) outputs(name string, result *pipeline.Result) []cli.Artifact {
	outputs := b.files(b.env.Output, name, result.Result)
	if result.Extra != nil {
		outputs = append(outputs, b.files(b.extraDir, name+"-btf-extra", result.Extra)...)
	}
	if result.Inlined != nil {
		outputs = append(outputs, b.inlineFiles(name+".inline", result.Inlined)...)
	}
	return outputs
}

// inlineFiles returns the output files for the sites of inlined functions in a module.
func (b *batch) inlineFiles(name string, result *pipeline.InlinedResult) []cli.Artifact {
	files := []cli.Artifact{
		{Path: filepath.Join(b.inlineDir, name+".btf"), File: cli.Bytes(result.BTF)},
	}
	if b.skippedDir != "" {
		files = append(files, cli.Artifact{Path: filepath.Join(b.skippedDir, name+".skipped"),
			File: result.Lost.Write})
	}
	return files
}

// files returns the output file for BTF in a directory and, with --skipped-dir, the file that lists
// what is not encoded.
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
