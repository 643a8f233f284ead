// Package kbuild reads a Linux tree, or a directory of modules, that Kbuild has built. It finds the
// object files from which vmlinux and the modules were linked.
//
// No single file lists all objects. Depending on the Linux release, they are listed in linker maps,
// in archives, and in the commands that Kbuild saves. For example, fs/fat/fat.mod lists the objects
// of the module fs/fat/fat.ko, such as fs/fat/cache.o. fs/fat/.fat.ko.cmd lists the object files
// that are linked in addition: fs/fat/fat.mod.o and .module-common.o.
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

// Tree describes a directory in which Kbuild built. Paths are relative to the directory and use /.
type Tree struct {
	Vmlinux *Linked   // nil if the directory has only modules
	Modules []Linked  // in the order of modules.order
	Skipped []Skipped // objects without DWARF or BTF, sorted by path
	Rust    bool      // whether the kernel was configured with Rust
	// DWOs maps each object that was compiled with -gsplit-dwarf to its .dwo file. An object that was
	// linked from several such objects (ld -r) has several .dwo files.
	DWOs    map[string][]string
	Missing []string // sources that are named by symbols of vmlinux, but by no object, sorted
	Inputs  []string // the files that were read or looked for, sorted
}

// Linked is a file that was linked from object files.
type Linked struct {
	Name    string   // as in the file name: vmlinux, msdos, snd-hda-intel
	Path    string   // such as vmlinux, fs/fat/msdos.ko
	Objects []string // objects that have types, and archives that are not thin
	From    string   // the files that list the objects, for messages
}

// Skipped is an object that has no types to convert.
type Skipped struct {
	Path   string
	Reason string
}

// Options selects how much of a tree is read.
type Options struct {
	NoObjects bool // don't look for the objects of vmlinux
	NoModules bool // don't read modules
	Whole     bool // don't look for the objects of modules
}

type reader struct {
	dir     string
	config  map[string]string
	moved   string // former path of dir, in absolute paths that Kbuild wrote; "" if unknown
	inputs  map[string]bool
	found   map[string]found // the objects inspected so far, by path
	dwos    map[string][]string
	skipped map[string]string
}

// Read reads the tree at dir. Errors name the file and say what to do.
func Read(dir string, o Options) (*Tree, error) {
	if st, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !st.IsDir() {
		return nil, fmt.Errorf("%s: not a directory; specify one where Kbuild built a kernel or "+
			"modules", dir)
	}
	r := &reader{dir: dir, inputs: map[string]bool{}, found: map[string]found{},
		dwos: map[string][]string{}, skipped: map[string]string{}}
	if err := r.readConfig(); err != nil {
		return nil, err
	}
	if r.split() && (o.NoObjects || o.Whole) {
		return nil, fmt.Errorf("%s: CONFIG_DEBUG_INFO_SPLIT=y, so most of the DWARF is in .dwo files "+
			"next to the objects: read the objects (vmlinux = \"objects\", modules = \"objects\")",
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

// configName is the file from which Kbuild's makefiles read the configuration.
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

// path returns the path for opening a file of the tree.
func (r *reader) path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

func (r *reader) exists(name string) bool { return isFile(r.dir, name) }

// note adds a file to the inputs, and reports whether it exists.
func (r *reader) note(name string) bool {
	r.inputs[name] = true
	return r.exists(name)
}

// maxText is the maximum size of a text file. The largest files have a few MB: they contain
// commands that list all objects of a kernel.
const maxText = 64 << 20

// read returns the content of a text file, and adds it to the inputs.
func (r *reader) read(name string) (string, error) {
	r.inputs[name] = true
	st, err := os.Stat(r.path(name))
	if err != nil {
		return "", err
	}
	if !st.Mode().IsRegular() || st.Size() > maxText {
		return "", fmt.Errorf("%s: not a text file from Kbuild (%d bytes)", r.path(name), st.Size())
	}
	b, err := os.ReadFile(r.path(name))
	return string(b), err
}

var errOutside = errors.New("is outside the tree")

// rel makes a path from Kbuild relative to the tree. Before Linux 6.13, Kbuild writes absolute
// paths for external modules, whose directory may have been moved since then.
func (r *reader) rel(name string) (string, error) {
	name = filepath.Clean(name)
	outside := func() error {
		return fmt.Errorf("%s: %s %w: specify the directory in which Kbuild "+
			"built", r.dir, name, errOutside)
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
			// modules.order may name an object that doesn't exist, even if the .ko does.
			stem := strings.TrimSuffix(name[i+1:], filepath.Ext(name))
			if r.exists(name[i+1:]) || r.exists(stem+".ko") {
				r.moved = name[:i]
				return filepath.ToSlash(name[i+1:]), nil
			}
		}
	}
	return "", outside()
}
