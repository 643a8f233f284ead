// Package batch has what the verbs share that work on the files of a whole kernel: it finds modules
// in directories and archives, and reports what is done. What they do with each file is in the
// verbs' own files.
package batch

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/kernelimage"
	"github.com/rules-btf/rules_btf/internal/kernel/archive"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
)

// Files are the files that a verb works on. Close removes temporary copies of them.
type Files struct {
	Kernel  *File // or nil
	Modules []File
	Close   func()
}

// File is a module or a kernel.
type File struct {
	Name string // the file name without .ko, or "vmlinux"
	Path string
	Rel  string // the path of a copy, below the output directory

	Doubt string // why the base may be the wrong one for it; "" if nothing says so
}

// Options say which files Find returns.
type Options struct {
	// Order is a file that lists which modules to read from directories, or "".
	Order string
	// If DWARF is set, NAME.ko.debug is read in place of NAME.ko. Otherwise, the modules in
	// directories may be compressed.
	DWARF bool
}

// Find returns the files that the arguments name: modules, directories and archives with modules,
// and a kernel. No two modules may have the same name. The module with the BTF of vmlinux is
// skipped with a warning. The caller must call Close, unless Find returns an error.
func Find(env *cli.Env, args []string, o Options) (found Files, err error) {
	args, found.Close, err = unpackArchives(env, args)
	defer func() {
		if err != nil {
			found.Close()
		}
	}()
	if err != nil {
		return found, err
	}
	var listed []string
	if o.Order != "" {
		if listed, err = readOrder(o.Order); err != nil {
			return found, err
		}
		if len(listed) == 0 {
			return found, fmt.Errorf("%s: it lists no modules; run make modules", o.Order)
		}
	}
	for _, arg := range args {
		if info, err := os.Stat(arg); err != nil || !info.IsDir() {
			if err := found.add(arg); err != nil {
				return found, err
			}
			continue
		}
		rels := listed
		if o.Order == "" {
			if rels, err = o.below(arg); err != nil {
				return found, err
			}
		}
		for _, rel := range rels {
			found.Modules = append(found.Modules, o.moduleIn(arg, rel))
		}
	}
	return found, found.check(env)
}

// add adds a file that is an argument. If it can't be read, the error is reported later, for this
// module.
func (f *Files) add(path string) error {
	if isKernel(path) {
		if f.Kernel != nil {
			return cli.Usagef("%s and %s: neither is a module, but only one file can be the kernel; "+
				"leave one out", f.Kernel.Path, path)
		}
		f.Kernel = &File{Name: "vmlinux", Path: path, Rel: filepath.Base(path)}
		return nil
	}
	name := strings.TrimSuffix(strings.TrimSuffix(unpackedName(filepath.Base(path)), ".debug"), ".ko")
	f.Modules = append(f.Modules, File{Name: name, Path: path, Rel: name + ".ko"})
	return nil
}

// isKernel reports whether a file is a linked ELF file, but not a module. A kernel may have any
// name, and its debug file may have no contents.
func isKernel(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return !f.Relocatable() && !f.IsModule() && f.ModuleInfo("vermagic") == ""
}

// check skips the module with the BTF of vmlinux, and returns an error if modules have the same
// name, or if there is no file.
func (f *Files) check(env *cli.Env) error {
	f.Modules = slices.DeleteFunc(f.Modules, func(m File) bool {
		is := archive.Name(m.Path) == verify.VmlinuxModule
		if is {
			env.Warn("%s: skipped, because its BTF is that of vmlinux (CONFIG_DEBUG_INFO_BTF=m)", m.Path)
		}
		return is
	})
	if f.Kernel == nil && len(f.Modules) == 0 {
		return errors.New("there is no other module; specify one")
	}
	byName := map[string]string{}
	for _, m := range f.Modules {
		name := archive.Name(m.Name)
		if other, ok := byName[name]; ok {
			return fmt.Errorf("%s and %s: both are the module %s; convert them to different "+
				"directories", other, m.Path, name)
		}
		byName[name] = m.Path
	}
	return nil
}

// Paths returns the paths of all files.
func (f *Files) Paths() (paths []string) {
	if f.Kernel != nil {
		paths = append(paths, f.Kernel.Path)
	}
	for _, m := range f.Modules {
		paths = append(paths, m.Path)
	}
	return paths
}

// moduleIn returns a module in a directory. For DWARF, a .debug file next to it is read instead.
func (o *Options) moduleIn(dir, rel string) File {
	path := filepath.Join(dir, rel)
	if _, err := os.Stat(path + ".debug"); err == nil && o.DWARF {
		path += ".debug"
	}
	rel = unpackedName(rel)
	return File{Name: strings.TrimSuffix(filepath.Base(rel), ".ko"), Path: path, Rel: rel}
}

// below returns the paths of the modules below a directory, relative to it, without .debug.
func (o *Options) below(dir string) (rels []string, err error) {
	packed := false
	all, err := archive.Below(dir, func(rel string) bool {
		return strings.HasSuffix(strings.TrimSuffix(unpackedName(rel), ".debug"), ".ko")
	})
	for _, rel := range all {
		name, separate := strings.CutSuffix(rel, ".debug")
		switch {
		case o.DWARF && unpackedName(rel) != rel:
			packed = true
		case o.DWARF || !separate:
			rels = append(rels, name)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case len(rels) == 0 && packed:
		return nil, fmt.Errorf("%s: the modules in this directory are compressed, so they are not files "+
			"with DWARF; specify those files", dir)
	case len(rels) == 0:
		return nil, fmt.Errorf("%s: there is no file *.ko in this directory; "+
			"specify the directory with the modules", dir)
	}
	slices.Sort(rels)
	return slices.Compact(rels), nil
}

// unpackedName returns the name that a file has after it is decompressed.
func unpackedName(name string) string {
	for _, end := range []string{".xz", ".zst", ".gz"} {
		if short, ok := strings.CutSuffix(name, end); ok {
			return short
		}
	}
	return name
}

// Open opens an ELF file, which may be compressed as a whole, as distributions ship modules.
func Open(path string) (*elf.File, error) {
	if unpackedName(path) == path {
		return elf.Open(path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	content, err := kernelimage.Unpack(path, data, 0)
	if err != nil {
		return nil, err
	}
	return elf.Parse(content.Label, content.Data)
}

// readOrder returns the modules that Kbuild's modules.order lists. The file lists them as object
// files (.o); before Linux 6.2, it lists them as modules (.ko).
func readOrder(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		stem, ok := strings.CutSuffix(line, ".o")
		if !ok {
			stem, ok = strings.CutSuffix(line, ".ko")
		}
		if !ok {
			return nil, fmt.Errorf("%s: not a modules.order of Kbuild: %q is not a module; "+
				"specify the one that make modules wrote", path, line)
		}
		if !filepath.IsLocal(stem) {
			return nil, fmt.Errorf("%s: %q is outside the directory whose modules the file lists; pass "+
				"that module as an argument", path, line)
		}
		list = append(list, stem+".ko")
	}
	return list, lines.Err()
}
