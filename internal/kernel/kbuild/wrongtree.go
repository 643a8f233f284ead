package kbuild

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// notBuilt is the error for a directory that has neither vmlinux nor modules.order. Like all errors
// in this file, it says what kind of directory was given, and which directory to give instead.
// Rule: Kbuild: a directory in which nothing was built.
func notBuilt(dir string) error {
	switch root := rootAbove(dir); {
	case isSource(dir):
		if out := outputIn(dir); out != "" {
			return fmt.Errorf("%s: this is a kernel source tree, but Kbuild built in %s (O= or "+
				"KBUILD_OUTPUT): specify that directory", dir, out)
		}
		if !isFile(dir, ".config") {
			return fmt.Errorf("%s: this is a kernel source tree without a build: specify the "+
				"directory in O= or KBUILD_OUTPUT of make, or build the kernel here", dir)
		}
		return fmt.Errorf("%s: this kernel source tree is configured but not built, or was "+
			"cleaned: run make vmlinux, make modules, or both", dir)
	case isFile(dir, configName):
		return fmt.Errorf("%s: this Kbuild directory is configured but not built, or was "+
			"cleaned: run make vmlinux, make modules, or both", dir)
	case root != "":
		return partOf(dir, root)
	}
	return fmt.Errorf("%s: has neither vmlinux nor modules.order: run make vmlinux or make modules, "+
		"and specify the directory where Kbuild built (O= or KBUILD_OUTPUT, if set)", dir)
}

// nothingLinked is the error for a directory without vmlinux and modules (or with NoModules set).
func nothingLinked(dir string, o Options) error {
	if root := rootAbove(dir); root != "" {
		return partOf(dir, root)
	}
	if o.NoModules {
		return fmt.Errorf("%s: has no vmlinux, and modules are left out: run make vmlinux, or include "+
			"modules", dir)
	}
	return fmt.Errorf("%s: has no vmlinux, and modules.order lists no modules: run make vmlinux, "+
		"make modules, or both", dir)
}

// partOf is the error for a directory in the tree root.
func partOf(dir, root string) error {
	return fmt.Errorf("%s: this is part of the kernel tree %s: specify that tree (or, for modules "+
		"built by make M=DIR, build them first)", dir, root)
}

// rootAbove returns the kernel tree that contains a directory, or "" if there is none.
func rootAbove(dir string) string {
	for dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		if isSource(dir) || isFile(dir, configName) {
			return dir
		}
	}
	return ""
}

// rootByModule returns the tree above dir in which module, a path from dir's modules.order, is
// below dir, or "". For example, drivers/net/modules.order lists drivers/net/dummy.o.
func rootByModule(dir, module string) string {
	for root := dir; root != filepath.Dir(root); {
		root = filepath.Dir(root)
		part, err := filepath.Rel(root, dir)
		if err == nil && strings.HasPrefix(module, filepath.ToSlash(part)+"/") &&
			(isFile(root, module) || isSource(root) || isFile(root, configName)) {
			return root
		}
	}
	return ""
}

func isSource(dir string) bool {
	return isFile(dir, "Kconfig") && isFile(dir, "scripts/Makefile.build")
}

// outputIn returns the directory inside a source tree that has Kbuild's output for that tree, or
// "". The directory has a symbolic link "source" that points to the tree.
func outputIn(dir string) string {
	top, err := os.Stat(dir)
	if err != nil {
		return ""
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		out := filepath.Join(dir, e.Name())
		st, err := os.Stat(filepath.Join(out, "source"))
		if err == nil && os.SameFile(st, top) &&
			(isFile(out, "vmlinux") || isFile(out, "modules.order")) {
			return out
		}
	}
	return ""
}

func isFile(dir, name string) bool {
	st, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
	return err == nil && st.Mode().IsRegular()
}
