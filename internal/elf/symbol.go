package elf

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
)

// Place says where a symbol is defined.
type Place uint8

const (
	InSection  Place = iota // Symbol.Section is the section
	Undefined               // defined in another file
	Absolute                // a number that no layout changes
	Common                  // a tentative definition without a section yet
	OtherPlace              // a reserved index of the machine
)

// Symbol is an entry of the symbol table. There are many, so it has no pointers; Symbols.Name gives
// its name.
type Symbol struct {
	// Value is the laid-out address for symbols in a section. Elsewhere it is
	// the file's number. The Thumb bit of arm functions is cleared, and where
	// ppc64 functions have descriptors (ABI version 1), it is the code's address.
	Value uint64
	Size  uint64
	// Section is the index of the defining section, or -1; then Place says why.
	Section int32
	// FileIndex is, for local symbols, the ordinal of the STT_FILE symbol that
	// precedes them; -1 for other symbols and for local ones before any
	// STT_FILE. An STT_FILE symbol has its own ordinal here.
	FileIndex int32
	name      uint32 // in the string table
	Type      uint8  // STT_*
	Bind      uint8  // STB_*
	Other     uint8  // visibility and machine bits
	Place     Place
}

// Symbols is the symbol table (SHT_SYMTAB).
type Symbols struct {
	List  []Symbol // in file order without the null entry; empty if the file is stripped
	names []byte   // the string table, in which every symbol of List has its name
}

// Name returns a symbol's name. It shares the mapped file's memory: it is valid while the File is
// open (strings.Clone it to keep it).
func (t *Symbols) Name(s *Symbol) string {
	name, _ := stringAt(t.names, s.name)
	return name
}

// HasPrefix is strings.HasPrefix of a symbol's name, which need not be measured for that.
func (t *Symbols) HasPrefix(s *Symbol, prefix string) bool {
	from := min(int(s.name), len(t.names))
	return string(t.names[from:min(from+len(prefix), len(t.names))]) == prefix
}

// Contain tells whether any symbol's name contains part, which must have two bytes at least.
func (t *Symbols) Contain(part string) bool {
	if !bytes.Contains(t.names, []byte(part)) { // the usual answer, without a look at each symbol
		return false
	}
	return slices.ContainsFunc(t.List, func(s Symbol) bool {
		return strings.Contains(t.Name(&s),
			part)
	})
}

// Symbols returns the symbol table. It is read once; the caller must not modify it.
func (f *File) Symbols() (*Symbols, error) { return f.syms() }

// Sizes of a symbol in the file, by class.
const symSize32, symSize64 = 16, 24

// words reads numbers of either byte order, faster than through binary.ByteOrder.
type words struct{ big bool }

func (w words) u16(b []byte) uint16 {
	v := binary.LittleEndian.Uint16(b)
	if w.big {
		v = bits.ReverseBytes16(v)
	}
	return v
}

func (w words) u32(b []byte) uint32 {
	v := binary.LittleEndian.Uint32(b)
	if w.big {
		v = bits.ReverseBytes32(v)
	}
	return v
}

func (w words) u64(b []byte) uint64 {
	v := binary.LittleEndian.Uint64(b)
	if w.big {
		v = bits.ReverseBytes64(v)
	}
	return v
}

// symtab is the raw symbol table and what belongs to it.
type symtab struct {
	sec     *Section
	strs    []byte
	big     bool // byte order
	entsize int
	n       int    // entries, the null entry included
	shndx   []byte // SHT_SYMTAB_SHNDX entries of 4 bytes, or nil
}

// symtab finds the symbol table; nil if there is none.
func (f *File) symtab() (*symtab, error) {
	var t *symtab
	for _, s := range f.Sections {
		if s.Type != stdelf.SHT_SYMTAB {
			continue
		}
		if t != nil {
			return nil, s.errorf("a second symbol table; ELF allows one")
		}
		size := symSize64
		if f.AddrSize == 4 {
			size = symSize32
		}
		if int64(s.Link) >= int64(len(f.Sections)) {
			return nil, s.errorf("its string table is section %d of %d", s.Link, len(f.Sections))
		}
		if s.Flags&stdelf.SHF_COMPRESSED != 0 {
			return nil, s.errorf("compressed symbol tables are not supported")
		}
		t = &symtab{sec: s, strs: f.Sections[s.Link].raw, big: f.Order == binary.BigEndian, entsize: size,
			n: len(s.raw) / size}
		if len(s.raw)%size != 0 {
			return nil, s.errorf("%d bytes are no multiple of a symbol's %d", len(s.raw), size)
		}
	}
	if t == nil {
		return nil, nil
	}
	for _, s := range f.Sections {
		if s.Type == stdelf.SHT_SYMTAB_SHNDX && int(s.Link) == t.sec.Index {
			if len(s.raw)/4 < t.n {
				return nil, s.errorf("%d section indexes for %d symbols", len(s.raw)/4, t.n)
			}
			t.shndx = s.raw
		}
	}
	return t, nil
}

// at reads symbol i as it is in the file, but its section resolved. It leaves FileIndex alone.
func (t *symtab) at(i int, s *Symbol) error {
	w := words{t.big}
	var shndx uint16
	var info uint8
	if t.entsize == symSize64 {
		b := (*[symSize64]byte)(t.sec.raw[i*symSize64:])
		s.name, info, s.Other, shndx = w.u32(b[0:]), b[4], b[5], w.u16(b[6:])
		s.Value, s.Size = w.u64(b[8:]), w.u64(b[16:])
	} else {
		b := (*[symSize32]byte)(t.sec.raw[i*symSize32:])
		s.name, s.Value, s.Size = w.u32(b[0:]), uint64(w.u32(b[4:])), uint64(w.u32(b[8:]))
		info, s.Other, shndx = b[12], b[13], w.u16(b[14:])
	}
	s.Type, s.Bind = info&15, info>>4
	s.Section, s.Place = int32(shndx), InSection
	if shndx == 0 || shndx >= uint16(stdelf.SHN_LORESERVE) || int(shndx) >= len(t.sec.f.Sections) {
		return t.resolve(i, shndx, s)
	}
	return nil
}

// resolve sets the place and section of symbol i, whose section index is none of a section, or not
// plainly so.
func (t *symtab) resolve(i int, shndx uint16, s *Symbol) error {
	idx := uint32(shndx)
	s.Section = -1
	switch {
	case shndx == xindex:
		if t.shndx == nil {
			return t.sec.errorf("symbol %d: its section index is in SHT_SYMTAB_SHNDX, which is missing", i)
		}
		idx = words{t.big}.u32(t.shndx[4*i:])
	case shndx == uint16(stdelf.SHN_ABS):
		s.Place = Absolute
		return nil
	case shndx == uint16(stdelf.SHN_COMMON):
		s.Place = Common
		return nil
	case shndx >= uint16(stdelf.SHN_LORESERVE):
		s.Place = OtherPlace
		return nil
	}
	if idx == 0 {
		s.Place = Undefined
		return nil
	}
	if int64(idx) >= int64(len(t.sec.f.Sections)) {
		return t.sec.errorf("symbol %d: its section is %d of %d", i, idx, len(t.sec.f.Sections))
	}
	s.Section = int32(idx)
	return nil
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
	addrs := make([]uint64, len(f.Sections)) // what is added to values of their symbols
	if f.Relocatable() {
		for i, s := range f.Sections {
			addrs[i] = s.Addr
		}
	}
	thumb := f.Machine == stdelf.EM_ARM
	ends := namesEnd(t.strs)
	fileIndex := int32(-1)
	for i := range list {
		s := &list[i]
		if err := t.at(i+1, s); err != nil {
			return nil, err
		}
		if !ends || int64(s.name) >= int64(len(t.strs)) {
			if _, ok := stringAt(t.strs, s.name); !ok {
				return nil, t.sec.errorf("symbol %d: name at offset %d is not a string of the string table (%d bytes)", i+1, s.name, len(t.strs))
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

// namesEnd tells whether all strings of a table end, the longest after maxName bytes. That saves
// looking for each end.
func namesEnd(tab []byte) bool {
	for len(tab) > 0 {
		end := bytes.LastIndexByte(tab[:min(maxName, len(tab))], 0)
		if end < 0 {
			return false
		}
		tab = tab[end+1:]
	}
	return true
}

// resolveDescriptors lets the symbols of ppc64 functions point to their code
// where the ABI (version 1) has them point to descriptors, three words in .opd
// of which the first is the code's address.
func (f *File) resolveDescriptors(syms []Symbol) error {
	if f.Machine != stdelf.EM_PPC64 {
		return nil
	}
	opd := f.Section(".opd")
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
