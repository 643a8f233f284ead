package main

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

type module struct {
	name string // the file name without .ko
	path string // the file with DWARF
	into string // the file that gets the BTF
	rel  string // the path of the file to write, below the output directory

	doubt string // why the base may be the wrong one for it; "" if nothing says so
}

// findModules returns the modules that the arguments name: files, and modules in directories. The
// parameter order is a file that lists which modules to read from directories. The parameter into
// is a directory with the files into which the BTF is embedded. Either parameter may be "". No two
// modules may have the same name. The module with the BTF of vmlinux is skipped with a warning.
func findModules(env *cli.Env, args []string, order, into string) ([]module, error) {
	var listed []string
	if order != "" {
		var err error
		if listed, err = readOrder(order); err != nil {
			return nil, err
		}
		if len(listed) == 0 {
			return nil, fmt.Errorf("%s: it lists no modules", order)
		}
	}
	var list []module
	for _, arg := range args {
		if info, err := os.Stat(arg); err != nil || !info.IsDir() {
			// If the file can't be read, the error is reported later, for this module.
			name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(arg), ".debug"), ".ko")
			list = append(list, module{name: name, path: arg, into: arg, rel: name + ".ko"})
			continue
		}
		rels := listed
		if order == "" {
			var err error
			if rels, err = modulesBelow(arg); err != nil {
				return nil, err
			}
		}
		for _, rel := range rels {
			list = append(list, moduleIn(arg, rel))
		}
	}
	list = slices.DeleteFunc(list, func(m module) bool {
		is := archive.Name(m.path) == verify.VmlinuxModule
		if is {
			env.Warn("%s: skipped, because its BTF is that of vmlinux (CONFIG_DEBUG_INFO_BTF=m)", m.path)
		}
		return is
	})
	if len(list) == 0 {
		return nil, errors.New("there is no other module")
	}
	byName := map[string]string{}
	for _, m := range list {
		name := archive.Name(m.path)
		if other, ok := byName[name]; ok {
			return nil, fmt.Errorf("%s and %s: both are the module %s; convert them to different "+
				"directories", other, m.path, name)
		}
		byName[name] = m.path
	}
	if into != "" {
		return list, findTargets(list, into)
	}
	return list, nil
}

// moduleIn returns a module in a directory. If there is a .debug file next to the module, that file
// is read instead.
func moduleIn(dir, rel string) module {
	rel = strings.TrimSuffix(rel, ".debug")
	path := filepath.Join(dir, rel)
	if _, err := os.Stat(path + ".debug"); err == nil {
		path += ".debug"
	}
	name := strings.TrimSuffix(filepath.Base(rel), ".ko")
	return module{name: name, path: path, into: path, rel: rel}
}

// findTargets finds, for each module, the module below dir into which its BTF is embedded.
func findTargets(list []module, dir string) error {
	rels, err := archive.Below(dir, func(rel string) bool {
		return strings.HasSuffix(unpackedName(rel), ".ko")
	})
	if err != nil {
		return err
	}
	if len(rels) == 0 {
		return fmt.Errorf("%s: there is no file *.ko in this directory", dir)
	}
	byName := map[string]string{}
	for _, rel := range rels {
		byName[strings.TrimSuffix(filepath.Base(unpackedName(rel)), ".ko")] = rel
	}
	for i := range list {
		m := &list[i]
		rel, ok := byName[m.name]
		if !ok {
			return fmt.Errorf("%s: this directory has no module %s.ko for the BTF of "+
				"%s", dir, m.name, m.path)
		}
		m.into, m.rel = filepath.Join(dir, rel), unpackedName(rel)
	}
	return nil
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

// openTarget opens a module that gets BTF. The file may be compressed as a whole, as distributions
// ship modules.
func openTarget(path string) (*elf.File, error) {
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

func modulesBelow(dir string) ([]string, error) {
	rels, err := archive.Below(dir, func(rel string) bool {
		return strings.HasSuffix(strings.TrimSuffix(rel, ".debug"), ".ko")
	})
	if err == nil && len(rels) == 0 {
		err = fmt.Errorf("%s: there is no file *.ko in this directory", dir)
		if findTargets(nil, dir) == nil {
			err = fmt.Errorf("%s: the modules in this directory are compressed, so they are not files "+
				"with DWARF; specify those files, and this directory as --into", dir)
		}
	}
	return rels, err
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
			return nil, fmt.Errorf("%s: not a modules.order of Kbuild: %q is not a module", path, line)
		}
		if !filepath.IsLocal(stem) {
			return nil, fmt.Errorf("%s: %q is outside the directory whose modules the file lists; pass "+
				"that module as an argument", path, line)
		}
		list = append(list, stem+".ko")
	}
	return list, lines.Err()
}
