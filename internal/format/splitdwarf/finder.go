package splitdwarf

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// Finder finds the split units of any number of files. If it is nil or the zero value, it looks
// where compilers and dwp write them. Several goroutines may use a Finder concurrently.
type Finder struct {
	// Dirs are directories in which .dwo files have the paths that the compiler recorded, or suffixes
	// of these paths. If Dirs isn't empty, the directory of the compilation is not read.
	Dirs []string
	// Follow lists the .dwo files that may be read, in any directory. Other files in the list are
	// ignored. If Follow is nil or points to nil, any .dwo file may be read.
	Follow *[]string
	// Package is a .dwp file, or "". Units that the package lacks are looked for elsewhere.
	Package string

	once sync.Once
	pkg  *opened
	err  error

	listing sync.Once
	listed  map[string][]string // the files of Follow by base name
}

// errInterrupted is returned to later users of the package if open panicked in another thread.
var errInterrupted = errors.New("another thread failed to open the package of .dwo files")

// Close closes the package. Afterwards, no unit that x has found may be used.
func (x *Finder) Close() {
	if x.pkg != nil {
		x.pkg.file.Close()
		x.pkg = nil
	}
}

type opened struct {
	path  string
	file  *elf.File
	data  *dwarf.Data
	users int
}

// open opens the file at path, which has split units of main, and reads the list of these units.
func open(path string, main *elf.File) (*opened, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	f.Threads, f.MaxDecompressed = 1, main.MaxDecompressed
	d, err := dwarf.NewSplit(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &opened{path: path, file: f, data: d}, nil
}

// Files finds the files that hold the split units of one input.
type Files struct {
	finder *Finder
	main   *elf.File
	prefix []byte

	once     sync.Once
	packages []*dwarf.Data // searched first for each unit
	beside   *opened       // the package beside the input
	err      error

	mu    sync.Mutex
	idle  []*opened      // .dwo files that nobody uses now, most recently used last
	busy  []*opened      // .dwo files in use
	found map[uint64]int // by dwo id: how often the unit was looked for
	count atomic.Uint64
}

// Of returns the Files for the input main, which must be open. If prefix isn't "", names that begin
// with prefix are cut to prefix alone (see dwarf.Data).
func (x *Finder) Of(main *elf.File, prefix string) *Files {
	if x == nil {
		x = &Finder{}
	}
	return &Files{finder: x, main: main, prefix: []byte(prefix), found: make(map[uint64]int)}
}

// Close closes the files that were opened for the input.
func (f *Files) Close() {
	for _, o := range append(f.idle, f.busy...) {
		o.file.Close()
	}
	if f.beside != nil {
		f.beside.file.Close()
	}
	f.idle, f.busy, f.beside = nil, nil, nil
}

// openPackages opens the files that are searched for the split unit of every skeleton unit.
func (f *Files) openPackages() {
	if own, err := f.ownUnits(); err != nil || own != nil {
		f.packages, f.err = append(f.packages, own), err
	}
	if x := f.finder; x.Package != "" && f.err == nil {
		x.once.Do(func() {
			x.err = errInterrupted
			x.pkg, x.err = open(x.Package, f.main)
		})
		if f.err = x.err; f.err == nil {
			f.packages = append(f.packages, x.pkg.data.For(f.prefix))
			if x.pkg.data.SplitUnits() == 0 {
				f.err = fmt.Errorf("%s: no split units (.debug_info.dwo); pass a package made by dwp",
					x.Package)
			}
		}
	}
	if f.finder.follows() {
		return
	}
	if path := f.main.Holder + packageSuffix; f.main.Holder != "" && f.err == nil && isFile(path) {
		if f.beside, f.err = open(path, f.main); f.err == nil {
			f.packages = append(f.packages, f.beside.data.For(f.prefix))
		}
	}
}

// packageSuffix is added to the name of a linked file to get the name of its package.
const packageSuffix = ".dwp"

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// ownUnits returns the split unit that the input itself contains (-gsplit-dwarf=single), or nil. If
// it contains several, they are not used: they come from object files that ld -r has joined, and
// each unit's offsets are relative to the start of the sections of its original object file.
func (f *Files) ownUnits() (*dwarf.Data, error) {
	if f.main.Section(".debug_info.dwo") == nil {
		return nil, nil
	}
	d, err := dwarf.NewSplit(f.main)
	if err != nil || d.SplitUnits() != 1 {
		return nil, nil // not an error, because the units may be in .dwo files
	}
	return d.For(f.prefix), nil
}

// maxIdle is how many unused files stay open: after LTO, consecutive units may be in one file.
const maxIdle = 4

// acquire returns the .dwo file at path, which it opens unless the file is still open.
func (f *Files) acquire(path string) (*opened, error) {
	f.mu.Lock()
	for _, o := range f.busy {
		if o.path == path {
			o.users++
			f.mu.Unlock()
			return o, nil
		}
	}
	for i, o := range f.idle {
		if o.path == path {
			f.idle = append(f.idle[:i:i], f.idle[i+1:]...)
			o.users, f.busy = 1, append(f.busy, o)
			f.mu.Unlock()
			return o, nil
		}
	}
	f.mu.Unlock()
	o, err := open(path, f.main)
	if err != nil {
		return nil, err
	}
	o.data.Prefix = f.prefix
	f.mu.Lock()
	defer f.mu.Unlock()
	o.users, f.busy = 1, append(f.busy, o)
	return o, nil
}

func (f *Files) release(o *opened) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o.users--; o.users > 0 {
		return
	}
	for i := range f.busy {
		if f.busy[i] == o {
			f.busy = append(f.busy[:i:i], f.busy[i+1:]...)
			break
		}
	}
	if f.idle = append(f.idle, o); len(f.idle) > maxIdle {
		f.idle[0].file.Close()
		f.idle = f.idle[1:]
	}
}
