package splitdwarf

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/format/debugfile"
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// Finder finds the split units of any number of files. If it is nil or the zero value, it looks
// where compilers and dwp write them. Several goroutines may use a Finder concurrently.
type Finder struct {
	// Files says where files may be. In Files.Dirs, .dwo files have the paths that the compiler
	// recorded, or suffixes of these paths; if Dirs isn't nil, the directory of the compilation is not
	// read. The .dwo files in Files.Named may be in any directory. nil means the zero value.
	Files *debugfile.Search

	once   sync.Once
	opened []*opened // the packages in Files.Named
	err    error

	listing sync.Once
	listed  map[string][]string // Files.Named by base name
}

// errInterrupted is the error in other threads if openAll panicked.
var errInterrupted = errors.New("another thread failed to open the packages of .dwo files")

// Close closes the packages. Afterwards, no unit that x has found may be used.
func (x *Finder) Close() {
	for _, o := range x.opened {
		o.file.Close()
	}
	x.opened = nil
}

type opened struct {
	path  string
	file  *elf.File
	data  *dwarf.Data
	users int
}

// open opens the file at path, which has split units, and reads the list of these units.
func open(path string) (*opened, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	f.Threads = 1
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
	beside   []*opened     // the packages that belong to the input's path
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
	for _, o := range slices.Concat(f.idle, f.busy, f.beside) {
		o.file.Close()
	}
	f.idle, f.busy, f.beside = nil, nil, nil
}

// openPackages opens the files that are searched for the split unit of every skeleton unit.
func (f *Files) openPackages() {
	if own, err := f.ownUnits(); err != nil || own != nil {
		f.packages, f.err = append(f.packages, own), err
	}
	x := f.finder
	list, err := []*opened(nil), error(nil)
	if x.files().Named != nil {
		x.once.Do(func() {
			x.err = errInterrupted
			x.opened, x.err = x.openAll("")
		})
		list, err = x.opened, x.err
	} else {
		f.beside, err = x.openAll(f.main.Holder)
		list = f.beside
	}
	f.err = cmp.Or(f.err, err)
	for _, o := range list {
		f.packages = append(f.packages, o.data.For(f.prefix))
	}
}

// openAll opens the packages that may have units of the input at path. After an error, the list has
// those that are open.
func (x *Finder) openAll(path string) (list []*opened, err error) {
	paths, err := x.files().Packages(path)
	for _, path := range paths {
		o, err := open(path)
		if err != nil {
			return list, err
		}
		list = append(list, o)
	}
	return list, err
}

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
	o, err := open(path)
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
