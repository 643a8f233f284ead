package main

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rules-btf/rules_btf/e2e/scale"
	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/kbuild"
)

// readKernel lists the files of a built kernel.
func readKernel(dir string) (*scale.Kernel, error) {
	tree, err := kbuild.Read(dir, kbuild.Options{})
	if err != nil {
		return nil, err
	}
	k := &scale.Kernel{Repository: "external/kernel"}
	if k.Vmlinux, err = size(filepath.Join(dir, "vmlinux")); err != nil {
		return nil, err
	}
	if k.Objects, err = objects(dir, tree.Vmlinux.Objects); err != nil {
		return nil, err
	}
	for _, m := range tree.Modules {
		l := scale.Linked{Name: m.Path, Made: 2}
		if l.Bytes, err = size(filepath.Join(dir, m.Path)); err != nil {
			return nil, err
		}
		if l.Objects, err = objects(dir, m.Objects); err != nil {
			return nil, err
		}
		k.Modules = append(k.Modules, l)
	}
	return k, nil
}

func objects(dir string, paths []string) (list []scale.Object, err error) {
	for _, path := range paths {
		n, err := size(filepath.Join(dir, path))
		if err != nil {
			return nil, err
		}
		list = append(list, scale.Object{Path: path, Bytes: n})
	}
	return list, nil
}

func size(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// modulePaths are the modules below a directory.
func modulePaths(dir string) (paths []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && filepath.Ext(path) == ".ko" {
			paths = append(paths, path)
		}
		return err
	})
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("%s: no file *.ko below this directory", dir)
	}
	return paths, err
}

// moduleSizes are the sizes of modules and their numbers of units, by size.
func moduleSizes(paths []string) (list []scale.Module, err error) {
	for _, path := range paths {
		n, err := size(path)
		if err != nil {
			return nil, err
		}
		units, err := countUnits(path)
		if err != nil {
			return nil, err
		}
		list = append(list, scale.Module{Bytes: n, Units: units})
	}
	slices.SortFunc(list, func(a, b scale.Module) int {
		if a.Bytes != b.Bytes {
			return int(a.Bytes - b.Bytes)
		}
		return a.Units - b.Units
	})
	return list, nil
}

// countUnits counts the compilation units in a file's .debug_info, by the lengths in their headers.
func countUnits(path string) (n int, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info := f.Section(".debug_info")
	if info == nil {
		return 0, fmt.Errorf("%s: no DWARF", path)
	}
	data := info.Raw()
	for len(data) >= 4 {
		length := uint64(binary.LittleEndian.Uint32(data)) + 4
		if length > uint64(len(data)) {
			return 0, fmt.Errorf("%s: .debug_info: a unit is longer than the section", path)
		}
		data, n = data[length:], n+1
	}
	return n, nil
}

// sample takes n values of a sorted list, evenly.
func sample[T any](list []T, n int) []T {
	if len(list) <= n {
		return list
	}
	var some []T
	for i := range n {
		some = append(some, list[i*(len(list)-1)/(n-1)])
	}
	return some
}
