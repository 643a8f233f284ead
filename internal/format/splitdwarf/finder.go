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

// Finder says where split units are, of any number of files. The zero value, or a nil one, looks
// where the build and its tools leave them. It may be used by several goroutines at once.
type Finder struct {
	// Dirs are directories in which .dwo files lie, at the paths that the compiler gave them or
	// at the ends of these. If there are any, the directory of the compilation is not read.
	Dirs []string
	// Follow are the .dwo files that may be read, wherever they are; nil, or nil in it: any. If there
	// are some, nothing is looked for. Other files may be among them.
	Follow *[]string
	// Package is a .dwp file, "" if none is given. What it doesn't have is looked for elsewhere.
	Package string

	once sync.Once
	pkg  *opened
	err  error

	listing sync.Once
	listed  map[string][]string // Follow by base name
}

// errInterrupted is for those who want the package after open has panicked in another thread.
var errInterrupted = errors.New("another thread failed to open the package of .dwo files")

// Close closes the package. Nothing that Files have found may be used any more.
func (x *Finder) Close() {
	if x.pkg != nil {
		x.pkg.file.Close()
		x.pkg = nil
	}
}

// opened is a file with split units that is open.
type opened struct {
	path  string
	file  *elf.File
	data  *dwarf.Data
	users int
}

// open opens the file at path, which has split units of main, and lists these.
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

// Files are the files with split units of one input.
type Files struct {
	finder *Finder
	main   *elf.File
	prefix []byte

	once     sync.Once
	packages []*dwarf.Data // in which units are looked for first
	beside   *opened       // the package beside the input
	err      error

	mu    sync.Mutex
	idle  []*opened      // .dwo files that nobody uses now, the latest last
	busy  []*opened      // those that are used
	found map[uint64]int // how often each unit was asked for
	count atomic.Uint64
}

// Of returns the files of an input, which is open. Names that begin with a prefix mean the prefix,
// see dwarf.Data; "" for none.
func (x *Finder) Of(main *elf.File, prefix string) *Files {
	if x == nil {
		x = &Finder{}
	}
	return &Files{finder: x, main: main, prefix: []byte(prefix), found: make(map[uint64]int)}
}

// Close closes what was opened for the input.
func (f *Files) Close() {
	for _, o := range append(f.idle, f.busy...) {
		o.file.Close()
	}
	if f.beside != nil {
		f.beside.file.Close()
	}
	f.idle, f.busy, f.beside = nil, nil, nil
}

// openPackages opens what may have split units of all skeletons.
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
				f.err = fmt.Errorf("%s: no split units (.debug_info.dwo): not a package that dwp makes",
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

// packageSuffix is what a package's name has after that of the linked file.
const packageSuffix = ".dwp"

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// ownUnits are the split units that the input has itself (-gsplit-dwarf=single), nil if there are
// none. Several units are not used: they are of several objects that ld -r has joined, and their
// offsets count from where the sections of each began.
func (f *Files) ownUnits() (*dwarf.Data, error) {
	if f.main.Section(".debug_info.dwo") == nil {
		return nil, nil
	}
	d, err := dwarf.NewSplit(f.main)
	if err != nil || d.SplitUnits() != 1 {
		return nil, nil // what these sections say is not needed where a .dwo file has it
	}
	return d.For(f.prefix), nil
}

// maxIdle is how many files stay open that nobody uses: after link-time optimization, units that
// follow one another may be in one file.
const maxIdle = 4

// use opens a .dwo file, or takes it if it is still open.
func (f *Files) use(path string) (*opened, error) {
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

// release ends a use.
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
