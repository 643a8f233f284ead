package main

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/batch"
	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/report"
	"github.com/rules-btf/rules_btf/internal/kernel/archive"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

func archiveCommand() *cobra.Command {
	flags := cli.NewFlags(&cobra.Command{
		Use:   "archive [MODULE...]",
		Short: "Collect the BTF of a kernel release, as in /sys/kernel/btf, with a manifest",
		Long: `
Writes the files that the kernel shows in /sys/kernel/btf: vmlinux, and a file for each module,
named as in the kernel (with _ for -). manifest.json lists the files, each with the SHA-256 of its
base, for "btfdedup verify --manifest". docs/manifest.md describes the format.

The output is a new directory, or a file whose name ends with .tar or .tar.zst; - means a tar
archive on standard output. Other archive endings, such as .tgz, are an error. The result depends
on the set of modules, not on their order, the paths of their files, the time or the user.

MODULE is FILE or PATH=FILE. FILE is raw BTF, or an ELF file with a .BTF section. PATH is the
module's path below /lib/modules/RELEASE, such as kernel/fs/ext4/ext4.ko, or just the module's name.
Without PATH, the name comes from the ELF file, or else from FILE. A module with a section .BTF.base
is relocated to the BTF of vmlinux, as the kernel does.

If a name ends with .inline, as in vmlinux.inline.btf or xfs.inline=FILE, the file has BTF of the
sites where functions of vmlinux or of the module were inlined, from "btfgen inline" or "btfdedup
modules --inline-dir". The archive has it as vmlinux.inline, based on vmlinux, or as xfs.inline. It
also has the section .BTF.inline of an ELF file. If the module has a distilled base, its sites are
relocated too.

The file of --vmlinux doesn't count as a module, so btf/*.btf may include it.

All BTF is checked by the rules that the kernel applies at boot and when it loads a module. BTF that
the kernel would refuse is an error.`,
		Example: `
btfdedup archive -o btf --release 7.2.12 --vmlinux vmlinux.btf btf/ext4.btf btf/xfs.btf
# the file "modules" has one argument per line, such as kernel/fs/ext4/ext4.ko=out/ext4.btf
btfdedup archive -o btf.tar.zst --release 7.2.12 --vmlinux vmlinux.btf @modules
# with the sites of inlined functions
btfdedup archive -o btf --release 7.2.12 --vmlinux vmlinux.btf vmlinux.inline.btf xfs*.btf`,
	}, cli.Output|cli.Report)
	flags.NoStdin = "the name of a module comes from its file name"
	flags.MarkRequired("release", "vmlinux")
	var a archiveRun
	flags.Func("release", "the kernel's `RELEASE`, as uname -r prints it", func(name string) error {
		a.release.Name = name
		return checkRelease(name)
	})
	flags.InputVar(&a.release.Vmlinux, "vmlinux",
		"the `FILE` with the BTF of vmlinux: raw BTF or an ELF file")
	flags.StringArrayVar(&a.distilled, "distilled-base", nil,
		"`NAME=FILE`: FILE is the distilled base of the module NAME, whose raw BTF is relocated to"+
			" the BTF of vmlinux")
	flags.StringArrayVar(&a.on, "on", nil,
		"`MODULE=BASE`: MODULE is based on the module BASE")
	return flags.Command(a.run)
}

type archiveRun struct {
	release       archive.Release
	distilled, on []string
}

func (r *archiveRun) run(env *cli.Env, args []string) error {
	if end := packedName(env.Output); end != "" {
		return cli.Usagef("-o %s: an archive is a directory, or a .tar or .tar.zst file; %s is not "+
			"supported", env.Output, end)
	}
	r.release.Jobs = env.Jobs
	for _, arg := range args {
		path, file, ok := strings.Cut(arg, "=")
		if !ok {
			path, file = "", arg
			if sameFile(file, r.release.Vmlinux) {
				continue
			}
		}
		r.release.Modules = append(r.release.Modules, archive.Module{File: file, Path: path})
	}
	var err error
	if r.release.On, err = pairs("--on", "MODULE=BASE", r.on); err != nil {
		return err
	}
	for module, base := range r.release.On {
		r.release.On[module] = archive.Name(base)
	}
	if r.release.Distilled, err = pairs("--distilled-base", "NAME=FILE", r.distilled); err != nil {
		return err
	}
	inputs := []string{r.release.Vmlinux}
	for _, m := range r.release.Modules {
		inputs = append(inputs, m.File)
	}
	run := report.Start(env, inputs)
	defer run.Close()
	a, err := archive.Build(r.release)
	if err != nil {
		return err
	}
	modules, sites := count(&a.Manifest)
	for _, note := range a.Notes {
		env.Warn("%s", note)
	}
	batch.WarnOfBases(env, a.Doubts, modules)
	made := "vmlinux and " + message.Count(modules, "module")
	if sites > 0 {
		made = "vmlinux, " + message.Count(modules, "module") + " and " +
			message.Count(sites, "file") + " with sites of inlined functions"
	}
	run.Made(made + " in " + env.Output)
	ending := archive.TarEnding(env.Output)
	if env.Output == "-" {
		ending = ".tar"
	}
	if ending == "" {
		return run.Finish(cli.Artifact{Path: env.Output, Dir: a.WriteDir})
	}
	return run.Finish(cli.Artifact{Path: env.Output,
		File: func(w io.Writer) error { return a.WriteTar(w, ending) }})
}

// count counts the modules in an archive, and the files with sites of inlined functions.
func count(m *archive.Manifest) (modules, sites int) {
	for _, f := range m.Files {
		switch {
		case archive.SitesOf(f.Name) != "":
			sites++
		case f.Name != archive.Vmlinux:
			modules++
		}
	}
	return modules, sites
}

// packedName returns the ending of a name if this program can't write archives with such an ending
// (for example .tgz), otherwise "".
func packedName(name string) string {
	if strings.HasSuffix(name, ".tar.zst") {
		return ""
	}
	for _, end := range []string{".tar.gz", ".tar.xz", ".tar.bz2", ".tar.lz4", ".tar.lzma", ".tgz",
		".txz", ".tbz", ".tbz2", ".tzst", ".zip", ".7z", ".cpio", ".gz", ".xz", ".bz2", ".zst"} {
		if strings.HasSuffix(strings.ToLower(name), end) {
			return end
		}
	}
	return ""
}

// checkRelease checks that a release can be the name of a directory in /lib/modules.
func checkRelease(name string) error {
	bad := func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '/' }
	if name == "" || strings.ContainsFunc(name, bad) {
		return errors.New("expected a kernel release, such as 7.2.12-cloud-amd64")
	}
	return nil
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// pairs parses the arguments MODULE=VALUE of a flag. It returns the values by module name.
func pairs(flag, form string, args []string) (map[string]string, error) {
	m := map[string]string{}
	for _, arg := range args {
		module, value, _ := strings.Cut(arg, "=")
		if module == "" || value == "" {
			return nil, cli.Usagef("%s: %q doesn't have the form %s", flag, arg, form)
		}
		name := archive.Name(module)
		if other, ok := m[name]; ok && other != value {
			return nil, cli.Usagef("%s has both %s and %s for the module %s", flag, other, value, name)
		}
		m[name] = value
	}
	return m, nil
}
