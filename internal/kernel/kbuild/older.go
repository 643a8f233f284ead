package kbuild

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Kernels before 5.19 don't save the command that links vmlinux.o, and kernels before 6.1 have no
// vmlinux.a. In these kernels, vmlinux is linked from the built-in.a of each directory that the top
// Makefile names, the objects in head-y, and the needed members of the libraries.

// notBuiltIn lists patterns of directories that contain no objects for vmlinux.
var notBuiltIn = []string{"Documentation", "scripts", "tools", ".git", "arch/*/boot/compressed",
	"arch/*/realmode", "drivers/firmware/efi/libstub"}

// builtIn lists the objects in head-y, and every built-in.a in the tree. A directory's archive
// has the members of the archives in its subdirectories, so most objects are in several archives.
func (r *reader) builtIn() (inputs []string, err error) {
	err = filepath.WalkDir(r.dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(r.dir, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			for _, pattern := range notBuiltIn {
				if ok, _ := path.Match(pattern, name); ok {
					return fs.SkipDir
				}
			}
		} else if d.Name() == "built-in.a" {
			inputs = append(inputs, name)
		}
		return nil
	})
	if err != nil || len(inputs) == 0 {
		return nil, err
	}
	for _, head := range []string{"head*.o", "ebda.o", "platform-quirks.o"} {
		inputs = append(inputs, r.glob("arch/*/kernel/"+head)...)
	}
	return inputs, nil
}

// libraries lists the archives from which only the needed members are linked. The BTF linker finds
// these members by the symbols of vmlinux. The EFI stub is part of the kernel on some machines. On
// others, it is part of the decompressor and is left out, because the decompressor's symbols have
// the same names as the kernel's.
func (r *reader) libraries() []string {
	list := append(r.glob("lib/lib.a"), r.glob("arch/*/lib/lib.a")...)
	if stub := "drivers/firmware/efi/libstub/lib.a"; r.exists(stub) &&
		len(r.glob("arch/x86/kernel/vmlinux.lds"))+len(r.glob("arch/arm/kernel/vmlinux.lds")) == 0 {
		list = append(list, stub)
	}
	return list
}

func (r *reader) glob(pattern string) (names []string) {
	matches, _ := filepath.Glob(strings.ReplaceAll(r.dir, "*", "\\*") + "/" + pattern)
	for _, m := range matches {
		if name, err := filepath.Rel(r.dir, m); err == nil && r.exists(filepath.ToSlash(name)) {
			names = append(names, filepath.ToSlash(name))
		}
	}
	slices.Sort(names)
	return names
}
