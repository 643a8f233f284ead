package main

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/rules-btf/rules_btf/e2e/scale"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/kernel/kbuild"
)

// readKernel lists the files of a built kernel.
func readKernel(dir string) (*scale.Kernel, error) {
	tree, err := kbuild.Read(dir, kbuild.Options{})
	if err != nil {
		return nil, err
	}
	k := &scale.Kernel{Repository: "external/_main~_repo_rules~kernel"} // as Bazel 7 names it
	if k.Vmlinux, err = size(filepath.Join(dir, "vmlinux")); err != nil {
		return nil, err
	}
	if k.Objects, err = objects(dir, tree.Vmlinux.Objects); err != nil {
		return nil, err
	}
	for _, m := range tree.Modules {
		n, err := size(filepath.Join(dir, m.Path))
		if err != nil {
			return nil, err
		}
		k.Modules = append(k.Modules, scale.Linked{Object: scale.Object{Path: m.Path, Bytes: n},
			Sources: scale.SourcesOf(len(m.Objects))})
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

// modulesBelow are the modules below a directory, by size.
func modulesBelow(dir string) (list []scale.Linked, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Ext(path) != ".ko" {
			return err
		}
		n, err := size(path)
		list = append(list, scale.Linked{Object: scale.Object{Path: path, Bytes: n}})
		return err
	})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s: no file *.ko below this directory", dir)
	}
	slices.SortStableFunc(list, func(a, b scale.Linked) int { return cmp.Compare(a.Bytes, b.Bytes) })
	return list, err
}

// moduleSizes are the sizes of modules and their numbers of units, and how many a directory has.
func moduleSizes(modules []scale.Linked) (list []scale.Module, directories []int, err error) {
	in := map[string]int{}
	for _, m := range modules {
		units, err := countUnits(m.Path)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, scale.Module{Bytes: m.Bytes, Units: units})
		in[filepath.Dir(m.Path)]++
	}
	return list, slices.Sorted(maps.Values(in)), nil
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
