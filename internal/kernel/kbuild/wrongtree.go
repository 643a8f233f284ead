package kbuild

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// notBuilt is the error for a directory with neither vmlinux nor modules.order. It says what the
// directory is and what to name instead, as all errors in this file do.
func notBuilt(dir string) error {
	switch root := rootAbove(dir); {
	case isSource(dir):
		if out := outputIn(dir); out != "" {
			return fmt.Errorf("%s: a kernel's source tree, and Kbuild built in %s (O= or "+
				"KBUILD_OUTPUT): name that", dir, out)
		}
		if !isFile(dir, ".config") {
			return fmt.Errorf("%s: a kernel's source tree in which nothing is built: name the "+
				"directory that make had in O= or KBUILD_OUTPUT, or make the kernel here", dir)
		}
		return fmt.Errorf("%s: a kernel's source tree that is configured and not built, or cleaned: "+
			"make vmlinux, make modules, or both", dir)
	case isFile(dir, configName):
		return fmt.Errorf("%s: a directory of Kbuild's that is configured and not built, or cleaned: "+
			"make vmlinux, make modules, or both", dir)
	case root != "":
		return partOf(dir, root)
	}
	return fmt.Errorf("%s: has neither vmlinux nor modules.order: name the directory in which Kbuild "+
		"built (with O= or KBUILD_OUTPUT, that one), after make vmlinux or make modules", dir)
}

// nothingLinked is the error for a directory without vmlinux, and without modules or with
// NoModules.
func nothingLinked(dir string, o Options) error {
	if root := rootAbove(dir); root != "" {
		return partOf(dir, root)
	}
	if o.NoModules {
		return fmt.Errorf("%s: has no vmlinux, and the modules are left out: make vmlinux, or take the "+
			"modules", dir)
	}
	return fmt.Errorf("%s: has no vmlinux, and modules.order lists no modules: make vmlinux, make "+
		"modules, or both", dir)
}

// partOf is the error for a directory in the tree root.
func partOf(dir, root string) error {
	return fmt.Errorf("%s: a part of the kernel's tree %s: name that (or, for modules of make M=DIR, "+
		"make them first)", dir, root)
}

// rootAbove returns the kernel's tree above a directory, "" if there is none.
func rootAbove(dir string) string {
	for dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		if isSource(dir) || isFile(dir, configName) {
			return dir
		}
	}
	return ""
}

// rootByModule returns the tree above dir in which a module's path leads through dir, "" if there
// is none. For example, modules.order of drivers/net has drivers/net/dummy.o.
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

// isSource reports whether a directory is the top of a kernel's sources.
func isSource(dir string) bool {
	return isFile(dir, "Kconfig") && isFile(dir, "scripts/Makefile.build")
}

// outputIn returns a directory in a source tree in which Kbuild built it, "" if there is none. Its
// link "source" leads to the tree.
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
