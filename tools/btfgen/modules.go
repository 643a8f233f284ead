package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/batch"
	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/conversion"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/convert/compilerbtf"
	"github.com/rules-btf/rules_btf/internal/kernel/resolveids"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/pipeline"
)

func modulesCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "modules KO|DIR|ARCHIVE|VMLINUX...",
		Short: "Make the BTF of many modules in one go",
		Long: `
Writes OUT/NAME.btf for each NAME.ko, byte for byte what "btfgen elf --base" produces. The base is
read only once. For a directory, all files *.ko below it are read. With --order, only the modules
listed in Kbuild's modules.order are read; it has paths relative to the directory. An archive of
modules is read like a directory: a file .tar, .tar.gz, .tgz, .tar.xz, .tar.zst, .deb or .rpm, whose
modules may be compressed (.ko.xz, .ko.zst, .ko.gz). "btfdedup embed" puts the BTF into modules.

If a file is a kernel, whatever its name, its BTF becomes OUT/vmlinux.btf, and is the base in place
of --base. It doesn't show implicit arguments of kfuncs (KF_IMPLICIT_ARGS, since Linux 7.0), like
the BTF that the running kernel has; otherwise it is what "btfgen elf" produces.

A module that can't be converted is an error; the BTF of the other modules is still written, and all
errors are listed at the end. The files of one module appear together or not at all.

For each NAME.ko, --skipped-dir writes SKIPPED/NAME.skipped, a list of what is not encoded.

If the feature global_var is on, --variables=percpu encodes only per-CPU variables, and
--variables=all encodes all variables. --extra-dir puts the variables that are not per CPU into
separate split BTF, EXTRA/NAME-btf-extra.btf, which is based on NAME.btf, as "btfgen elf
--variables=extra" does. NAME.btf is then the same as if the feature were off.

--inline-dir writes INLINE/NAME.inline.btf: split BTF of the sites at which functions were inlined,
which is based on NAME.btf, as "btfgen inline" does.

--base is BTF, or an index from "btfdedup index", which is faster. --extra-dir and --inline-dir need
the BTF, not only an index.`,
		Example: `
btfgen modules --base vmlinux.btf -o btf kernel/*.ko
# the modules of a kernel that Kbuild has built
btfgen modules --base vmlinux.btfbase -o btf --order linux/modules.order linux
# a whole kernel, with its base
btfgen modules -o btf linux/vmlinux linux
# all variables of a whole kernel; those that are not per CPU are in separate BTF
btfgen modules --features=+global_var -o btf --extra-dir extra vmlinux linux`,
	}, cli.OutputDir|cli.Base|cli.Features|cli.Report)
	flags.NoStdin = "the name of a module comes from its file name"
	m := &modules{}
	m.conversion.Define(flags)
	flags.InputVar(&m.order, "order", "read only the modules listed in `FILE`, Kbuild's modules.order")
	flags.OutputDirVarP(&m.skippedDir, "skipped-dir", "",
		"write lists of what is not encoded to the directory `SKIPPED`")
	flags.Var(&m.variables, "variables", "`which` variables to encode with the feature "+
		"global_var: \"percpu\" or \"all\"; the default depends on the features")
	flags.OutputDirVarP(&m.extraDir, "extra-dir", "",
		"write split BTF of the variables that are not per CPU to the directory `EXTRA`")
	flags.OutputDirVarP(&m.inlineDir, "inline-dir", "",
		"write split BTF of the sites where functions were inlined to the directory `INLINE`")
	return flags.Command(m.make)
}

type modules struct {
	conversion conversion.Flags
	variables  link.Which
	order      string
	skippedDir string
	extraDir   string
	inlineDir  string

	env      *cli.Env
	batch    pipeline.Batch
	bases    *base.Files
	report   *report.Run
	tally    *batch.Tally
	madeDirs []string    // directories that this run made
	made     report.Made // of the modules
}

func (m *modules) make(env *cli.Env, args []string) error {
	m.env = env
	if err := conversion.CheckInline(env); err != nil {
		return err
	}
	if err := conversion.CheckApart(m.variables, m.extraDir != "", env.Features,
		"--extra-dir"); err != nil {
		return err
	}
	files, err := batch.Find(env, args, batch.Options{Order: m.order, DWARF: true})
	if err != nil {
		return err
	}
	defer files.Close()
	switch {
	case files.Kernel == nil && len(env.Bases) == 0:
		for _, path := range files.Paths() { // one that is missing may be the kernel
			if _, err := os.Stat(path); err != nil {
				return err
			}
		}
		return cli.Usagef("--base FILE is missing: the BTF of the kernel, or an index of it;" +
			" or pass vmlinux too, to make that BTF")
	case files.Kernel != nil && len(env.Bases) != 0:
		return cli.Usagef("%s: it is linked, so it is a kernel, which has no base, not a module: "+
			"leave out the file or --base", files.Kernel.Path)
	}
	m.report = report.Start(env, files.Paths())
	defer m.report.Close()
	m.tally = batch.Start(env, m.report, files.Modules)
	defer m.removeEmpty()
	if err := m.openBase(files.Kernel); err != nil {
		return m.tally.Explain(err)
	}
	defer m.bases.Close()
	if err := m.makeDirs(); err != nil {
		return err
	}
	phase := m.report.Phase("modules", "modules")
	return m.tally.Each(phase.Progress, m.module, func() {
		phase.EndMade(&m.made)
	})
}

// openBase reads the bases, or makes the base from the kernel, which may be nil.
func (m *modules) openBase(kernel *batch.File) (err error) {
	if kernel != nil {
		return m.makeBase(kernel.Path)
	}
	if m.bases, err = base.Open(m.env.Bases); err != nil {
		return err
	}
	switch {
	case m.inlineDir != "":
		_, err = m.bases.Whole("--inline-dir")
	case m.extraDir != "":
		_, err = m.bases.Whole("--extra-dir")
	}
	if err != nil {
		m.bases.Close()
	}
	return err
}

func (m *modules) makeBase(path string) error {
	phase := m.report.Phase("vmlinux", "units")
	how := m.settings(&base.Files{})
	how.Convert.Progress = phase.Progress
	how.Passes = append(how.Passes, pipeline.Change(func(data []byte) ([]byte, error) {
		return resolveids.OfKernel(path, data, m.env.Jobs)
	}))
	result, err := pipeline.Linked(path, how)
	if linked, ok := errors.AsType[*compilerbtf.LinkedError](err); ok {
		return fmt.Errorf("%s: it has no DWARF, but BTF that is already linked (%s): pass the file "+
			"as --base", path, linked.Why)
	}
	if err != nil {
		return err
	}
	made := &report.Made{}
	if err := m.report.AddMade(made, nil, result.Result, result.Extra); err != nil {
		return err
	}
	phase.EndMade(made)
	if m.bases, err = new(base.Files).With(result.BTF); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	m.bases.Release = result.Release
	if err := m.makeDirs(); err != nil {
		return err
	}
	err = m.report.WriteOutputs(m.outputs("vmlinux", result)...)
	m.tally.Kernel = err == nil
	return err
}

func (m *modules) makeDirs() error {
	for _, dir := range []string{m.env.Output, m.skippedDir, m.extraDir, m.inlineDir} {
		if dir == "" {
			continue
		}
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			m.madeDirs = append(m.madeDirs, dir)
		}
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return fmt.Errorf("output: %w", err)
		}
	}
	return nil
}

// removeEmpty removes directories that this run made and that are still empty.
func (m *modules) removeEmpty() {
	for _, dir := range m.madeDirs {
		os.Remove(dir) // fails if there is a file in it
	}
}

// module makes the BTF of one module.
func (m *modules) module(of *batch.File) error {
	result, err := m.batch.Linked(of.Path, m.settings(m.bases))
	if linked, ok := errors.AsType[*compilerbtf.LinkedError](err); ok {
		return fmt.Errorf("%s: it has no DWARF, but BTF that is already linked (%s): pass the module "+
			"from the package with debug symbols", of.Path, linked.Why)
	}
	if err != nil {
		return err
	}
	of.Doubt = result.Doubt
	if err := m.report.WriteOutputs(m.outputs(of.Name, result)...); err != nil {
		return err
	}
	return m.report.AddMade(&m.made, m.bases.Last, result.Result, result.Extra)
}

// settings returns the settings for making the BTF of a file on these bases.
func (m *modules) settings(bases *base.Files) pipeline.How {
	how := pipeline.How{Files: m.conversion.Search(m.env), Bases: bases, Input: m.conversion.Input,
		Convert: m.conversion.Options(m.env), Variables: m.variables}
	if m.inlineDir != "" {
		how.Passes = append(how.Passes, pipeline.Sites{})
	}
	if m.extraDir != "" {
		how.Passes = append(how.Passes, pipeline.Extra{})
	}
	return how
}

// outputs returns the output files for a module: its BTF, the extra BTF of its other variables, and
// the lists of what is not encoded.
func (m *modules) outputs(name string, result *pipeline.Result) []cli.Artifact {
	outputs := m.files(m.env.Output, name, result.Result)
	if result.Extra != nil {
		outputs = append(outputs, m.files(m.extraDir, name+"-btf-extra", result.Extra)...)
	}
	if result.Inlined != nil {
		outputs = append(outputs, m.inlineFiles(name+".inline", result.Inlined)...)
	}
	return outputs
}

// inlineFiles returns the output files for the sites of inlined functions in a module.
func (m *modules) inlineFiles(name string, result *pipeline.InlinedResult) []cli.Artifact {
	files := []cli.Artifact{
		{Path: filepath.Join(m.inlineDir, name+".btf"), File: cli.Bytes(result.BTF)},
	}
	if m.skippedDir != "" {
		files = append(files, cli.Artifact{Path: filepath.Join(m.skippedDir, name+".skipped"),
			File: result.Lost.Write})
	}
	return files
}

// files returns the output file for BTF in a directory and, with --skipped-dir, the file that lists
// what is not encoded.
func (m *modules) files(dir, name string, result *link.Result) []cli.Artifact {
	files := []cli.Artifact{
		{Path: filepath.Join(dir, name+".btf"), File: cli.Bytes(result.BTF)},
	}
	if m.skippedDir != "" {
		files = append(files, cli.Artifact{Path: filepath.Join(m.skippedDir, name+".skipped"),
			File: result.WriteSkipped})
	}
	return files
}
