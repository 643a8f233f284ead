// Package kbuild reads from a built Linux tree, or from a built directory of modules, which object
// files Kbuild linked vmlinux and the modules of.
//
// Nothing in such a tree has that list as a whole, and where its parts are differs from release to
// release: in linkers' maps, in archives, in the commands that Kbuild keeps. Of the module
// fs/fat/fat.ko, fs/fat/fat.mod names fs/fat/cache.o, fs/fat/dir.o and others, and
// fs/fat/.fat.ko.cmd what was linked to it besides: fs/fat/fat.mod.o and .module-common.o.
package kbuild

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Tree is what Kbuild built in a directory. All paths are relative to that, with slashes.
type Tree struct {
	Vmlinux *Linked   // nil for a directory of modules alone
	Modules []Linked  // in the order of modules.order
	Skipped []Skipped // objects without DWARF or BTF, by path
	Rust    bool      // whether the kernel was configured with Rust
	// DWOs are the files with most of the DWARF of objects that were compiled with -gsplit-dwarf, by
	// the objects' paths.
	DWOs    map[string]string
	Missing []string // sources that vmlinux names and that none of its objects is of, by name
	Inputs  []string // the files that this was read from, by path; some of them don't exist
}

// Linked is a file that was linked of objects.
type Linked struct {
	Name    string   // as the kernel calls it, but for dashes: vmlinux, msdos, snd-hda-intel
	Path    string   // vmlinux, fs/fat/msdos.ko
	Objects []string // those that have types; archives among them that are not thin
	From    string   // which files tell the objects, for people
}

// Skipped is an object that has nothing to convert.
type Skipped struct {
	Path   string
	Reason string
}

// Options say how much of a tree is read.
type Options struct {
	NoObjects bool // vmlinux is not taken apart, so how it was linked does not matter
	NoModules bool // modules are not read
	Whole     bool // modules are not taken apart
}

// reader reads one tree.
type reader struct {
	dir     string
	config  map[string]string
	moved   string // where the directory was when Kbuild wrote absolute paths; "" if unknown
	inputs  map[string]bool
	found   map[string]found // what has been seen of objects, by path
	dwos    map[string]string
	skipped map[string]string
}

// Read reads the tree at dir. Errors name the file and say what to do.
func Read(dir string, o Options) (*Tree, error) {
	if st, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !st.IsDir() {
		return nil, fmt.Errorf("%s: not a directory; name one in which Kbuild built a kernel or modules",
			dir)
	}
	r := &reader{dir: dir, inputs: map[string]bool{}, found: map[string]found{},
		dwos: map[string]string{}, skipped: map[string]string{}}
	if err := r.readConfig(); err != nil {
		return nil, err
	}
	if r.split() && (o.NoObjects || o.Whole) {
		return nil, fmt.Errorf("%s: CONFIG_DEBUG_INFO_SPLIT=y, so most of the DWARF is beside the "+
			"objects, in .dwo files: read the objects (vmlinux and modules = \"objects\")",
			r.path(configName))
	}
	t := &Tree{Rust: r.config["CONFIG_RUST"] == "y"}
	hasVmlinux, hasModules := r.exists("vmlinux"), r.note("modules.order")
	if !hasVmlinux && !hasModules {
		return nil, notBuilt(dir)
	}
	if hasVmlinux {
		v, missing, err := r.vmlinux(o)
		if err != nil {
			return nil, err
		}
		t.Vmlinux, t.Missing = v, missing
	}
	if hasModules && !o.NoModules {
		var err error
		if t.Modules, err = r.modules(o); err != nil {
			return nil, err
		}
	}
	if t.Vmlinux == nil && len(t.Modules) == 0 {
		return nil, nothingLinked(dir, o)
	}
	for _, path := range slices.Sorted(maps.Keys(r.skipped)) {
		t.Skipped = append(t.Skipped, Skipped{path, r.skipped[path]})
	}
	t.DWOs = r.dwos
	t.Inputs = slices.Sorted(maps.Keys(r.inputs))
	return t, nil
}

// configName is the file that Kbuild's makefiles read the configuration from.
const configName = "include/config/auto.conf"

// readConfig reads the configuration, if it is there.
func (r *reader) readConfig() error {
	r.config = map[string]string{}
	if !r.note(configName) {
		return nil
	}
	text, err := r.read(configName)
	if err != nil {
		return err
	}
	for _, line := range strings.Split(text, "\n") {
		if key, value, ok := strings.Cut(line, "="); ok {
			r.config[key] = value
		}
	}
	return nil
}

// split reports whether the compiler wrote .dwo files.
func (r *reader) split() bool { return r.config["CONFIG_DEBUG_INFO_SPLIT"] == "y" }

// path is that of a file of the tree, to open it.
func (r *reader) path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

func (r *reader) exists(name string) bool { return isFile(r.dir, name) }

// note reports whether a file exists, on which what is read depends.
func (r *reader) note(name string) bool {
	r.inputs[name] = true
	return r.exists(name)
}

// maxText bounds the files that are read as a whole. The largest, a list of all objects of a kernel
// in a command, has some MB.
const maxText = 64 << 20

// read returns the content of a text file, which decides what is linked.
func (r *reader) read(name string) (string, error) {
	r.inputs[name] = true
	st, err := os.Stat(r.path(name))
	if err != nil {
		return "", err
	}
	if !st.Mode().IsRegular() || st.Size() > maxText {
		return "", fmt.Errorf("%s: not a text file of Kbuild's (%d bytes)", r.path(name), st.Size())
	}
	b, err := os.ReadFile(r.path(name))
	return string(b), err
}

// errOutside is of paths that Kbuild wrote and that are not below the tree.
var errOutside = errors.New("is not below the tree")

// rel returns a path that Kbuild wrote relative to the tree. Kbuild writes absolute paths where it
// builds modules of another directory (before 6.13), and the directory may have been moved
// since.
func (r *reader) rel(name string) (string, error) {
	if !filepath.IsAbs(name) {
		name = filepath.ToSlash(filepath.Clean(name))
		if name == ".." || strings.HasPrefix(name, "../") {
			return "", fmt.Errorf("%s: %s %w: name the directory that Kbuild built in", r.dir, name,
				errOutside)
		}
		return name, nil
	}
	name = filepath.Clean(name)
	abs, err := filepath.Abs(r.dir)
	if err != nil {
		return "", err
	}
	for _, root := range []string{abs, r.moved} {
		if rest, ok := strings.CutPrefix(name, root+"/"); ok && root != "" {
			return filepath.ToSlash(rest), nil
		}
	}
	if r.moved == "" {
		for i := 1; i < len(name); i++ {
			if name[i] != '/' {
				continue
			}
			// Of modules.order, neither the object nor the module need exist under that very name.
			stem := strings.TrimSuffix(name[i+1:], filepath.Ext(name))
			if r.exists(name[i+1:]) || r.exists(stem+".ko") {
				r.moved = name[:i]
				return filepath.ToSlash(name[i+1:]), nil
			}
		}
	}
	return "", fmt.Errorf("%s: %s %w: name the directory that Kbuild built in", r.dir, name,
		errOutside)
}
