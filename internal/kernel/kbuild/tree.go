// Package kbuild finds the object files from which Kbuild linked vmlinux and modules, in a built
// Linux tree or a built directory of modules.
//
// No file has the whole list, and where its parts are differs between releases: in linkers' maps,
// in archives, in the commands that Kbuild keeps. For example, fs/fat/fat.mod names the objects of
// the module fs/fat/fat.ko, such as fs/fat/cache.o, and fs/fat/.fat.ko.cmd those that are linked to
// them: fs/fat/fat.mod.o and .module-common.o.
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

// Tree is what Kbuild built in a directory. All paths are relative to it, with slashes.
type Tree struct {
	Vmlinux *Linked   // nil for a directory of modules alone
	Modules []Linked  // in the order of modules.order
	Skipped []Skipped // objects without DWARF or BTF, by path
	Rust    bool      // whether the kernel was configured with Rust
	// DWOs are the .dwo files of objects that were compiled with -gsplit-dwarf, by the objects'
	// paths.
	DWOs    map[string]string
	Missing []string // sources in vmlinux's symbols that none of its objects has, by name
	Inputs  []string // the files that were read or looked for, by path
}

// Linked is a file that was linked from objects.
type Linked struct {
	Name    string   // the kernel's name, but with dashes: vmlinux, msdos, snd-hda-intel
	Path    string   // vmlinux, fs/fat/msdos.ko
	Objects []string // those that have types, and archives that are not thin
	From    string   // the files that name the objects, for people
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

// configName is the file with the configuration for Kbuild's makefiles.
const configName = "include/config/auto.conf"

func (r *reader) readConfig() error {
	r.config = map[string]string{}
	if !r.note(configName) {
		return nil
	}
	text, err := r.read(configName)
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(text, "\n") {
		if key, value, ok := strings.Cut(line, "="); ok {
			r.config[key] = value
		}
	}
	return nil
}

func (r *reader) split() bool { return r.config["CONFIG_DEBUG_INFO_SPLIT"] == "y" }

// path is that of a file of the tree, to open it.
func (r *reader) path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

func (r *reader) exists(name string) bool { return isFile(r.dir, name) }

// note reports whether a file exists, and adds it to the inputs.
func (r *reader) note(name string) bool {
	r.inputs[name] = true
	return r.exists(name)
}

// maxText limits the size of files that are read as a whole. The largest, a command with all
// objects of a kernel, has some MB.
const maxText = 64 << 20

// read returns the content of a text file, and adds it to the inputs.
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

// errOutside is the error for Kbuild's paths that are not below the tree.
var errOutside = errors.New("is not below the tree")

// rel makes a path of Kbuild's relative to the tree. Kbuild writes absolute paths for modules of
// another directory (before 6.13), and the directory may have been moved since.
func (r *reader) rel(name string) (string, error) {
	name = filepath.Clean(name)
	outside := func() error {
		return fmt.Errorf("%s: %s %w: name the directory that Kbuild built in", r.dir, name, errOutside)
	}
	if !filepath.IsAbs(name) {
		if !filepath.IsLocal(name) {
			return "", outside()
		}
		return filepath.ToSlash(name), nil
	}
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
			// modules.order may name the object of a module whose only file is the .ko.
			stem := strings.TrimSuffix(name[i+1:], filepath.Ext(name))
			if r.exists(name[i+1:]) || r.exists(stem+".ko") {
				r.moved = name[:i]
				return filepath.ToSlash(name[i+1:]), nil
			}
		}
	}
	return "", outside()
}
