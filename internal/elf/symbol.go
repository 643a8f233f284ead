package elf

import (
	stdelf "debug/elf"
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

// Symbol is an entry of the symbol table.
type Symbol struct {
	// Name shares the mapped file's memory: it is valid while the File is open
	// (strings.Clone it to keep it).
	Name string
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
	Type      uint8 // STT_*
	Bind      uint8 // STB_*
	Other     uint8 // visibility and machine bits
	Place     Place
}

// Symbols returns the symbol table (SHT_SYMTAB) in file order without its null
// entry, or nothing if the file is stripped. It is read once; the caller must
// not modify it.
func (f *File) Symbols() ([]Symbol, error) { return f.syms() }

// symtab is the raw symbol table and what belongs to it.
type symtab struct {
	sec     *Section
	strs    []byte
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
		size := 24
		if f.AddrSize == 4 {
			size = 16
		}
		if int64(s.Link) >= int64(len(f.Sections)) {
			return nil, s.errorf("its string table is section %d of %d", s.Link, len(f.Sections))
		}
		if s.Flags&stdelf.SHF_COMPRESSED != 0 {
			return nil, s.errorf("compressed symbol tables are not supported")
		}
		t = &symtab{sec: s, strs: f.Sections[s.Link].raw, entsize: size, n: len(s.raw) / size}
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

// rawSymbol is a symbol as in the file, but its section resolved.
type rawSymbol struct {
	name        uint32
	info, other uint8
	place       Place
	section     int
	value, size uint64
}

// at reads symbol i.
func (t *symtab) at(i int) (r rawSymbol, err error) {
	f := t.sec.f
	bo := f.Order
	b := t.sec.raw[i*t.entsize:]
	var shndx uint16
	r.name = bo.Uint32(b)
	if f.AddrSize == 8 {
		r.info, r.other, shndx = b[4], b[5], bo.Uint16(b[6:])
		r.value, r.size = bo.Uint64(b[8:]), bo.Uint64(b[16:])
	} else {
		r.value, r.size = uint64(bo.Uint32(b[4:])), uint64(bo.Uint32(b[8:]))
		r.info, r.other, shndx = b[12], b[13], bo.Uint16(b[14:])
	}
	idx := uint32(shndx)
	r.section = -1
	switch {
	case shndx == xindex:
		if t.shndx == nil {
			return r, t.sec.errorf("symbol %d: its section index is in SHT_SYMTAB_SHNDX, which is missing", i)
		}
		idx = bo.Uint32(t.shndx[4*i:])
	case shndx == uint16(stdelf.SHN_ABS):
		r.place = Absolute
		return r, nil
	case shndx == uint16(stdelf.SHN_COMMON):
		r.place = Common
		return r, nil
	case shndx >= uint16(stdelf.SHN_LORESERVE):
		r.place = OtherPlace
		return r, nil
	}
	if idx == 0 {
		r.place = Undefined
		return r, nil
	}
	if int64(idx) >= int64(len(f.Sections)) {
		return r, t.sec.errorf("symbol %d: its section is %d of %d", i, idx, len(f.Sections))
	}
	r.section = int(idx)
	return r, nil
}

func (f *File) readSymbols() ([]Symbol, error) {
	t, err := f.symtab()
	if err != nil || t == nil || t.n <= 1 {
		return nil, err
	}
	syms := make([]Symbol, t.n-1)
	fileIndex := int32(-1)
	for i := range syms {
		r, err := t.at(i + 1)
		if err != nil {
			return nil, err
		}
		name, ok := stringAt(t.strs, r.name)
		if !ok {
			return nil, t.sec.errorf("symbol %d: name at offset %d is not a string of the string table (%d bytes)", i+1, r.name, len(t.strs))
		}
		s := &syms[i]
		*s = Symbol{Name: name, Value: r.value, Size: r.size, Section: int32(r.section), FileIndex: -1,
			Type: r.info & 15, Bind: r.info >> 4, Other: r.other, Place: r.place}
		if f.Relocatable() && r.place == InSection {
			s.Value += f.Sections[r.section].Addr
		}
		if f.Machine == stdelf.EM_ARM && s.Type == uint8(stdelf.STT_FUNC) && r.place == InSection {
			s.Value &^= 1
		}
		if s.Type == uint8(stdelf.STT_FILE) {
			fileIndex++
		}
		if s.Bind == uint8(stdelf.STB_LOCAL) && fileIndex >= 0 {
			s.FileIndex = fileIndex
		}
	}
	return syms, f.resolveDescriptors(syms)
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
