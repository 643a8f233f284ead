package kbuild

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Trees of kernels before 5.19 have no command of vmlinux.o's link, and before 6.1 no vmlinux.a.
// They link the built-in.a of the directories in the top Makefile, the objects of head-y, and what
// is needed of the libraries.

// notBuiltIn are patterns of directories with nothing for vmlinux.
var notBuiltIn = []string{"Documentation", "scripts", "tools", ".git", "arch/*/boot/compressed",
	"arch/*/realmode", "drivers/firmware/efi/libstub"}

// builtIn lists the built-in.a of the tree and the objects of head-y. A directory's archive also
// has the members of those below it, so most members are listed several times.
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

// libraries lists the archives from which the linker takes what is needed; the link of the BTF
// finds that by vmlinux's symbols. EFI's stub is a part of the kernel on some machines, and
// elsewhere of the decompressor, which has symbols of the same names.
func (r *reader) libraries() []string {
	list := append(r.glob("lib/lib.a"), r.glob("arch/*/lib/lib.a")...)
	if stub := "drivers/firmware/efi/libstub/lib.a"; r.exists(stub) &&
		len(r.glob("arch/x86/kernel/vmlinux.lds"))+len(r.glob("arch/arm/kernel/vmlinux.lds")) == 0 {
		list = append(list, stub)
	}
	return list
}

// glob returns the files of the tree that match a pattern, sorted.
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
