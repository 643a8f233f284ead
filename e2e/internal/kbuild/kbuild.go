// Package kbuild reads from a built Linux tree which objects its vmlinux and its modules were
// linked from.
package kbuild

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Tree is a built kernel. All paths are relative to its directory.
type Tree struct {
	Objects []string // what vmlinux was linked from, in link order
	Modules []Module // in the order of modules.order
}

// Module is one loadable module.
type Module struct {
	Name    string   // as the kernel calls it: msdos, 8021q
	Path    string   // fs/fat/msdos.ko
	Objects []string // what it was linked from, in link order
}

// Read reads the kernel built in dir. It needs vmlinux.map (CONFIG_VMLINUX_MAP) and, if there are
// modules, modules.order and each module's .mod file.
func Read(dir string) (*Tree, error) {
	f, err := os.Open(filepath.Join(dir, "vmlinux.map"))
	if err != nil {
		return nil, fmt.Errorf("%w: build the kernel with CONFIG_VMLINUX_MAP=y", err)
	}
	defer f.Close()
	t := &Tree{}
	if t.Objects, err = LinkedObjects(f); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	for _, o := range t.Objects {
		if o == "vmlinux.o" {
			return nil, fmt.Errorf("%s: vmlinux was linked from vmlinux.o, and the map does not name "+
				"the objects of that: build the kernel without CONFIG_X86_KERNEL_IBT", f.Name())
		}
	}
	order, err := lines(filepath.Join(dir, "modules.order"))
	if os.IsNotExist(err) {
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	for _, object := range order {
		m, err := readModule(dir, strings.TrimSuffix(object, ".o"))
		if err != nil {
			return nil, err
		}
		t.Modules = append(t.Modules, m)
	}
	return t, nil
}

// readModule reads stem.mod, which names the objects of the module stem.ko.
func readModule(dir, stem string) (Module, error) {
	m := Module{Name: filepath.Base(stem), Path: stem + ".ko"}
	objects, err := lines(filepath.Join(dir, stem+".mod"))
	if err != nil {
		return m, err
	}
	m.Objects = append(objects, stem+".mod.o", ".module-common.o")
	return m, nil
}

func lines(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(b)), nil
}
