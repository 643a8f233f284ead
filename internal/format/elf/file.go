package elf

import (
	"cmp"
	stdelf "debug/elf"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// File is an open ELF file. Its methods may be called by several goroutines at once, except Close.
type File struct {
	Path     string           // as given to Open, or archive(member)
	Holder   string           // path of the file with the bytes; "" if they are in memory
	AddrSize int              // bytes of an address: 4 (ELFCLASS32) or 8 (ELFCLASS64)
	Order    binary.ByteOrder // byte order of every number in the file
	Machine  stdelf.Machine
	Type     stdelf.Type
	// Sections holds every section by index; [0] is the reserved null section. It is empty if the
	// file has no section headers.
	Sections []*Section
	// Threads is how many threads may read and relocate a large section together; 0 means one per
	// processor. Set it before any section is read.
	Threads int
	// MaxDecompressed is how many bytes the compressed sections may have in total when decompressed;
	// 256 KiB and 32 times the file's size are always allowed. Set it before any section is read.
	MaxDecompressed int

	data []byte   // the whole file
	m    *mapping // nil if data belongs to the caller

	beside
	addresses addressIndex
	// Each of these functions computes its value when it is first called.
	names        func() map[string][]*Section
	decompressed func() int // bytes
	symbols      func() (*Symbols, error)
	funcs        func() (*Functions, error)
	relSyms      func() (*symbolValues, error)
}

// beside is the part of a File that comes from other files (complete.go).
type beside struct {
	others         []*File // files that are closed with this one
	ours           []int32 // maps section indices of the stripped file to File.Sections; 0: none
	openSupplement func() (*File, error)
	supplement     func() (*File, error) // computes its value at the first call
}

// IsModule reports whether the file has the section that modpost adds to each kernel module.
func (f *File) IsModule() bool { return f.Section(".gnu.linkonce.this_module") != nil }

// IsModule reports whether the file at path is an ELF file that is a kernel module.
func IsModule(path string) bool {
	f, err := Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return f.IsModule()
}

// Open maps and parses the ELF file at path. The error for any other file says what that file is
// and what to do. The caller must Close the File. Afterwards, its bytes and names are invalid.
func Open(path string) (*File, error) {
	m, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	return openMapping(path, path, m)
}

// openMapping parses a mapped ELF file, and takes ownership of the mapping. Errors begin with name,
// which may differ from the file's path.
func openMapping(name, path string, m *mapping) (f *File, err error) {
	defer func() {
		if f == nil { // an error, or a panic because the file was truncated
			m.close()
		}
	}()
	if f, err = Parse(name, m.data); err != nil {
		return nil, err
	}
	f.m, f.Holder = m, path
	return f, nil
}

// Size is the file's size in bytes.
func (f *File) Size() int { return len(f.data) }

// Parse parses an ELF file that is in memory. Errors begin with name. The File refers to data,
// which must not change while the File is in use.
func Parse(name string, data []byte) (*File, error) {
	if err := checkMagic(name, data); err != nil {
		return nil, err
	}
	f := &File{Path: name, data: data}
	if err := f.parseHeader(); err != nil {
		return nil, err
	}
	if err := f.layOut(); err != nil {
		return nil, err
	}
	if err := f.attachRelocs(); err != nil {
		return nil, err
	}
	f.prepare()
	return f, nil
}

// prepare sets up what is computed on demand. f.Sections must be complete.
func (f *File) prepare() {
	f.addresses = indexAddresses(f)
	f.names = sync.OnceValue(f.indexNames)
	f.decompressed = sync.OnceValue(f.sumDecompressed)
	f.symbols = sync.OnceValues(f.readSymbols)
	f.funcs = sync.OnceValues(f.readFunctions)
	f.relSyms = sync.OnceValues(f.readSymbolValues)
	f.supplement = sync.OnceValues(f.readSupplement)
}

// Close unmaps the file, unless Parse made f, and closes the other files that belong to f.
func (f *File) Close() error {
	var err error
	for _, o := range f.others {
		err = cmp.Or(err, o.Close())
	}
	f.others = nil
	if f.m == nil {
		return err
	}
	m := f.m
	f.m = nil
	return cmp.Or(err, m.close())
}

// Bytes returns the whole file. The caller must not modify it.
func (f *File) Bytes() []byte { return f.data }

// DropPages frees the memory of the mapped content. Later reads load the content again.
func (f *File) DropPages() { f.m.drop(0, int64(len(f.data))) }

// Relocatable reports whether f is an ET_REL: an object file or kernel module.
func (f *File) Relocatable() bool { return f.Type == stdelf.ET_REL }

// Section returns the first section with that name, or nil. If the name is ".debug_x", and the file
// has no such section, Section looks for ".zdebug_x", the legacy name of the compressed section.
func (f *File) Section(name string) *Section {
	if s := f.SectionsNamed(name); len(s) > 0 {
		return s[0]
	}
	return nil
}

// SectionsNamed returns all sections with that name in index order: a relocatable file may have
// several, one for each COMDAT group. Like Section, it falls back to the legacy names of compressed
// sections. The caller must not modify the slice.
func (f *File) SectionsNamed(name string) []*Section {
	idx := f.names()
	if s := idx[name]; len(s) > 0 {
		return s
	}
	if len(name) > 7 && name[:7] == ".debug_" {
		return idx[".z"+name[1:]]
	}
	return nil
}

// HasDWARF reports whether the file has the contents of DWARF sections, not only their headers.
func (f *File) HasDWARF() bool {
	for _, name := range []string{".debug_info", ".debug_types"} {
		for _, s := range f.SectionsNamed(name) {
			if len(s.raw) > 0 {
				return true
			}
		}
	}
	return false
}

func (f *File) indexNames() map[string][]*Section {
	idx := make(map[string][]*Section, len(f.Sections))
	for _, s := range f.Sections {
		if s.Index != 0 {
			idx[s.Name] = append(idx[s.Name], s)
		}
	}
	return idx
}

// damaged makes an error about bytes that no compiler or linker writes.
func (f *File) damaged(format string, args ...any) error {
	return f.errorf(format+message.Rebuild, args...)
}

// errorf makes an error that starts with the name of the file.
func (f *File) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: "+format, append([]any{f.Path}, args...)...)
}
