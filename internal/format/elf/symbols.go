package elf

import (
	"bytes"
	stdelf "debug/elf"
	"slices"
	"strings"
)

// Place says where a symbol is defined.
type Place uint8

const (
	InSection  Place = iota // in the section with the index Symbol.Section
	Undefined               // in another file (SHN_UNDEF)
	Absolute                // a number, not an address in a section (SHN_ABS)
	Common                  // a tentative definition without a section yet (SHN_COMMON)
	OtherPlace              // an index reserved by the processor supplement
)

// Symbol is an entry of the symbol table. It contains no pointers, because a kernel has many
// symbols. Symbols.Name returns a symbol's name.
type Symbol struct {
	// Value is the address of a symbol in a section. In a relocatable file, that is the address that
	// the File gave the section, plus the symbol's offset. The Thumb bit of arm functions is cleared.
	// For ppc64 functions with descriptors (ABI version 1), Value is the address of the code. For a
	// symbol that is not in a section, Value is the number in the file.
	Value uint64
	Size  uint64 // in bytes
	// Section is the index of the section that the symbol is in, or -1 if Place is not InSection.
	Section int32
	// FileIndex is the number, from 0, of an STT_FILE symbol. A local symbol has the FileIndex of the
	// last STT_FILE symbol before it. FileIndex is -1 for local symbols before the first STT_FILE
	// symbol, and for symbols that are not local.
	FileIndex int32
	name      uint32 // offset in the string table
	Type      uint8  // STT_*
	Bind      uint8  // STB_*
	Other     uint8  // st_other: visibility and processor-specific bits
	Place     Place
}

// Symbols is the symbol table (SHT_SYMTAB).
type Symbols struct {
	List  []Symbol // in file order without the null entry; empty if the file is stripped
	names []byte   // the string table; readSymbols has checked each symbol's name
}

// Name returns a symbol's name. The string is in the mapped file's memory, so it is valid only
// while the File is open; use strings.Clone to keep it.
func (t *Symbols) Name(s *Symbol) string {
	name, _ := stringAt(t.names, s.name)
	return name
}

// HasPrefix reports whether a symbol's name begins with prefix. It is faster than Name, because it
// does not search for the end of the symbol's name.
func (t *Symbols) HasPrefix(s *Symbol, prefix string) bool {
	from := min(int(s.name), len(t.names))
	return string(t.names[from:min(from+len(prefix), len(t.names))]) == prefix
}

// Named reports whether a symbol's name equals name, which has no NUL. Like HasPrefix, it is fast.
func (t *Symbols) Named(s *Symbol, name []byte) bool {
	from := min(int(s.name), len(t.names))
	end := from + len(name)
	return end < len(t.names) && t.names[end] == 0 && string(t.names[from:end]) == string(name)
}

// Contain reports whether any symbol's name contains part, which must have two bytes or more.
func (t *Symbols) Contain(part string) bool {
	if !bytes.Contains(t.names, []byte(part)) { // usually true; then the symbols need not be read
		return false
	}
	return slices.ContainsFunc(t.List, func(s Symbol) bool {
		return strings.Contains(t.Name(&s), part)
	})
}

// Symbols returns the symbol table. It is read once; the caller must not modify it.
func (f *File) Symbols() (*Symbols, error) { return f.symbols() }

// DropSymbolPages frees the memory of the mapped names of symbols, if their table has at least this
// size. Later reads load the names again.
func (f *File) DropSymbolPages(size int) {
	for _, s := range f.Sections {
		if s.Type != stdelf.SHT_SYMTAB || uint64(s.Link) >= uint64(len(s.f.Sections)) {
			continue
		}
		if names := s.f.Sections[s.Link]; len(names.raw) >= size {
			names.DropPages()
		}
	}
}

func (f *File) readSymbols() (*Symbols, error) {
	t, err := f.symtab()
	if err != nil {
		return nil, err
	}
	if t == nil || t.n <= 1 {
		return &Symbols{}, nil
	}
	list := make([]Symbol, t.n-1)
	addrs := make([]uint64, len(f.Sections)) // added to the values of the sections' symbols
	if f.Relocatable() {
		for i, s := range f.Sections {
			addrs[i] = s.Addr
		}
	}
	thumb := f.Machine == stdelf.EM_ARM
	usual, left := areUsual(t.strs), maxShared*(len(t.strs)+len(t.sec.raw))
	fileIndex := int32(-1)
	for i := range list {
		s := &list[i]
		if err := t.readSymbol(i+1, s); err != nil {
			return nil, err
		}
		if !usual || int64(s.name) >= int64(len(t.strs)) {
			name, ok := stringAt(t.strs, s.name)
			if !ok {
				return nil, t.sec.damaged(
					"symbol %d: name at offset %d is not a string of the string table (%d bytes)",
					i+1, s.name, len(t.strs))
			}
			if left -= len(name); left < 0 {
				return nil, t.sec.damaged("corrupt: the names of %d symbols have more than %d times the "+
					"size of their table", i+1, maxShared)
			}
		}
		if s.Place == InSection {
			s.Value += addrs[s.Section]
			if thumb && s.Type == uint8(stdelf.STT_FUNC) {
				s.Value &^= 1
			}
		}
		if s.Type == uint8(stdelf.STT_FILE) {
			fileIndex++
		}
		s.FileIndex = -1
		if s.Bind == uint8(stdelf.STB_LOCAL) {
			s.FileIndex = fileIndex
		}
	}
	return &Symbols{list, t.strs}, f.resolveDescriptors(list)
}

// resolveDescriptors sets the values of ppc64 function symbols to the addresses of the code. In
// version 1 of the ABI, such a symbol points into .opd, to a descriptor of three words, the first
// of which is the address of the code.
func (f *File) resolveDescriptors(syms []Symbol) error {
	if f.Machine != stdelf.EM_PPC64 {
		return nil
	}
	opd := f.Section(".opd")
	if opd != nil && opd.detached() && len(syms) > 0 {
		return opd.errorf("%s", detachedText)
	}
	if opd == nil || opd.Type != stdelf.SHT_PROGBITS {
		return nil
	}
	data, err := opd.Data()
	if err != nil {
		return err
	}
	for i := range syms {
		s := &syms[i]
		if s.Section != int32(opd.Index) || s.Type != uint8(stdelf.STT_FUNC) {
			continue
		}
		off := s.Value - opd.Addr
		if uint64(len(data)) < 8 || off > uint64(len(data))-8 {
			continue
		}
		code := f.Order.Uint64(data[off:])
		if to := f.SectionAt(code); to != nil && to != opd {
			s.Value, s.Section = code, int32(to.Index)
		}
	}
	return nil
}
