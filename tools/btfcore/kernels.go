package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/archive"
	"github.com/rules-btf/rules_btf/internal/kernel/kernelbtf"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
)

// kernelFile is a file with one or more kernels.
type kernelFile struct {
	path string
	name string // for outputs and reports
}

// aboutKernels explains KERNEL arguments in help texts.
const aboutKernels = `
A KERNEL is raw BTF, such as /sys/kernel/btf/vmlinux; an ELF file with a section .BTF, such as
vmlinux; a bootable image; a compressed file of one of these kinds; a tar archive of such files,
like BTFHub's .btf.tar.xz; or a directory, in which all *.btf and *.btf.tar.xz files are read. The
name of a kernel is the name of its file, or its path below the directory, without .btf and .tar.*.
NAME=FILE names the kernel NAME, and NAME=DIR puts NAME/ before the names of kernels below DIR. For
a FILE whose name contains =, write ./FILE.`

// named splits an argument NAME=FILE. NAME must be a clean relative path; otherwise the whole
// argument is the name of a file.
func named(arg string) (name, file string) {
	name, file, ok := strings.Cut(arg, "=")
	if !ok || file == "" || name == "." || !filepath.IsLocal(name) || filepath.Clean(name) != name {
		return "", arg
	}
	return name, file
}

// findKernels returns the files that the arguments name. A file found in a directory gets its name
// from its path relative to the directory.
// Rule: names of kernels and modules, NAME=FILE.
func findKernels(args []string) ([]kernelFile, error) {
	var list []kernelFile
	for _, arg := range args {
		name, file := named(arg)
		info, err := os.Stat(file)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			if name == "" {
				name = kernelName(filepath.Base(file))
			}
			list = append(list, kernelFile{file, name})
			continue
		}
		rels, err := archive.Below(file, func(rel string) bool {
			return strings.HasSuffix(rel, ".btf") || strings.HasSuffix(rel, ".btf.tar.xz")
		})
		if err != nil {
			return nil, err
		}
		if len(rels) == 0 {
			return nil, fmt.Errorf("%s: no *.btf or *.btf.tar.xz files below it; pass the file "+
				"itself", file)
		}
		for _, rel := range rels {
			list = append(list, kernelFile{filepath.Join(file, rel), filepath.Join(name, kernelName(rel))})
		}
	}
	byName := map[string]string{}
	for _, k := range list {
		if other, ok := byName[k.name]; ok {
			return nil, fmt.Errorf("%s and %s: both would be called %s; pass a directory above both, or "+
				"NAME=FILE", other, k.path, k.name)
		}
		byName[k.name] = k.path
	}
	return list, nil
}

func kernelName(path string) string {
	for _, ending := range []string{".tar.xz", ".tar.zst", ".tar.gz", ".tar", ".btf"} {
		path = strings.TrimSuffix(path, ending)
	}
	return path
}

// kernel is a kernel in a kernelFile.
type kernel struct {
	name string
	*core.Kernel
}

// read returns the kernels in a file. They must have the same byte order as the needs.
func (f kernelFile) read(needs *needs.Needs, maxDecompressed int) ([]kernel, error) {
	files, err := kernelbtf.ReadAll(f.path, maxDecompressed)
	if err != nil {
		return nil, err
	}
	var list []kernel
	seen := map[string]bool{}
	for _, file := range files {
		b, err := parse(file, nil)
		if err != nil {
			return nil, err
		}
		if b.Order != needs.Order {
			return nil, fmt.Errorf("%s: its byte order is %v, but that of the programs is %v; "+
				"leave this kernel out", file.Label, b.Order, needs.Order)
		}
		name := f.name
		if len(files) > 1 {
			member := kernelName(file.Member)
			if !filepath.IsLocal(member) {
				return nil, fmt.Errorf("%s: the path points outside the archive; make the "+
					"archive again", file.Label)
			}
			if name += "/" + member; seen[name] {
				return nil, fmt.Errorf("%s: another kernel has the same name, %s; unpack the "+
					"archive, and rename one", file.Label, name)
			}
			seen[name] = true
		}
		list = append(list, kernel{name, &core.Kernel{Vmlinux: b}})
	}
	return list, nil
}

// parse parses BTF that was found in a file.
func parse(file kernelbtf.File, on *core.BTF) (*core.BTF, error) {
	var below *btf.Blob
	if on != nil {
		below = on.Blob
	}
	blob, err := btf.Parse(file.Data, below)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Label, err)
	}
	b, err := core.NewBTF(blob, on)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Label, err)
	}
	return b, nil
}

// addModules adds to a kernel the BTF of module files, and of all modules below directories.
func (k *kernel) addModules(paths []string, maxDecompressed int) error {
	var files []kernelFile
	for _, arg := range paths {
		name, path := named(arg)
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			if name == "" {
				name = moduleName(path)
			}
			files = append(files, kernelFile{path, archive.Name(name)})
			continue
		}
		if name != "" {
			return fmt.Errorf("%s: it is a directory, not the file of a module called %s; pass the "+
				"file", path, name)
		}
		rels, err := archive.Below(path, isModule)
		if err != nil {
			return err
		}
		if len(rels) == 0 {
			return fmt.Errorf("%s: no modules (*.ko, *.ko.xz, *.ko.zst, *.ko.gz, *.btf) below it; "+
				"pass the directory with the modules", path)
		}
		for _, rel := range rels {
			files = append(files, kernelFile{filepath.Join(path, rel), archive.Name(moduleName(rel))})
		}
	}
	seen := map[string]string{"vmlinux": k.name}
	for _, file := range files {
		found, err := kernelbtf.Read(file.path, maxDecompressed)
		if err != nil {
			return err
		}
		b, err := parse(found, k.Vmlinux)
		if err != nil {
			return fmt.Errorf("%w; is %s the kernel of this module? pass the right one", err, k.name)
		}
		if other, ok := seen[file.name]; ok {
			return fmt.Errorf("%s and %s: both would be called %s; pass NAME=FILE", other, file.path,
				file.name)
		}
		seen[file.name] = file.path
		k.Modules = append(k.Modules, core.Module{Name: file.name, BTF: b})
	}
	slices.SortFunc(k.Modules, func(a, b core.Module) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// moduleName returns the name of a module's file without directories and endings.
func moduleName(path string) string {
	base := filepath.Base(path)
	if i := strings.Index(base, ".ko"); i > 0 {
		return base[:i]
	}
	return strings.TrimSuffix(base, filepath.Ext(base))
}

func isModule(rel string) bool {
	if archive.SitesOf(archive.Name(rel)) != "" {
		return false
	}
	return slices.ContainsFunc([]string{".ko", ".ko.xz", ".ko.zst", ".ko.gz", ".btf"},
		func(ending string) bool { return strings.HasSuffix(rel, ending) })
}

// printErrors prints the errors of several files, and returns one error for all of them. The result
// done is set if at least one file has no error.
func printErrors(env *cli.Env, errs []error) (done bool, err error) {
	var failed []error
	for _, err := range errs {
		if err != nil {
			failed = append(failed, err)
		}
	}
	switch {
	case failed == nil:
		return true, nil
	case len(errs) == 1:
		return false, failed[0]
	}
	for _, err := range failed {
		env.Error(err)
	}
	if len(failed) == len(errs) {
		return false, fmt.Errorf("all %d kernels failed", len(errs))
	}
	return true, fmt.Errorf("%d of %d kernels failed; the others are done", len(failed), len(errs))
}
