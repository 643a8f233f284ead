package elf

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Sizes of a symbol in the file, by class.
const symSize32, symSize64 = 16, 24

// wordReader reads numbers in either byte order, without the indirect calls of binary.ByteOrder.
type wordReader struct{ big bool }

func (w wordReader) u16(b []byte) uint16 {
	v := binary.LittleEndian.Uint16(b)
	if w.big {
		v = bits.ReverseBytes16(v)
	}
	return v
}

func (w wordReader) u32(b []byte) uint32 {
	v := binary.LittleEndian.Uint32(b)
	if w.big {
		v = bits.ReverseBytes32(v)
	}
	return v
}

func (w wordReader) u64(b []byte) uint64 {
	v := binary.LittleEndian.Uint64(b)
	if w.big {
		v = bits.ReverseBytes64(v)
	}
	return v
}

// symtab is the symbol table in the file, with the sections that belong to it.
type symtab struct {
	sec     *Section
	strs    []byte // the string table
	big     bool   // whether numbers are big-endian
	entsize int    // bytes of a symbol
	n       int    // number of symbols, including the null entry
	shndx   []byte // content of SHT_SYMTAB_SHNDX, 4 bytes for each symbol, or nil
	// If the table comes from another file (see Complete), ours maps the section indices of that file
	// to those of File.Sections. Otherwise it is nil.
	ours []int32
}

// symtab finds the symbol table. It returns nil if the file has no symbol table.
func (f *File) symtab() (*symtab, error) {
	var t *symtab
	for _, s := range f.Sections {
		if s.Name == ".symtab" && s.detached() {
			return nil, s.errorf("%s", detachedText)
		}
		if s.Type != stdelf.SHT_SYMTAB {
			continue
		}
		if t != nil {
			return nil, s.damaged("a second symbol table, but ELF allows only one")
		}
		if s.f != f {
			other, err := s.f.symtab()
			if err != nil || other == nil {
				return nil, err
			}
			t = new(*other)
			t.ours = f.ours
			continue
		}
		size := symSize64
		if f.AddrSize == 4 {
			size = symSize32
		}
		if int64(s.Link) >= int64(len(f.Sections)) {
			return nil, s.damaged("its string table is section %d, past the last", s.Link)
		}
		if s.Flags&stdelf.SHF_COMPRESSED != 0 {
			return nil, s.damaged("compressed symbol tables are not supported")
		}
		t = &symtab{sec: s, strs: f.Sections[s.Link].raw, big: f.Order == binary.BigEndian,
			entsize: size, n: len(s.raw) / size}
		if len(s.raw)%size != 0 {
			return nil, s.damaged("size %d is not a multiple of a symbol's size %d", len(s.raw), size)
		}
	}
	if t == nil || t.ours != nil {
		return t, nil
	}
	for _, s := range f.Sections {
		if s.Type == stdelf.SHT_SYMTAB_SHNDX && int(s.Link) == t.sec.Index {
			if len(s.raw)/4 < t.n {
				return nil, s.damaged("only %d section indexes for %d symbols", len(s.raw)/4, t.n)
			}
			t.shndx = s.raw
		}
	}
	return t, nil
}

// readSymbol reads symbol i into s, with Section and Place resolved. Value is as in the file: in a
// relocatable file, it is an offset in the section. FileIndex is not set.
func (t *symtab) readSymbol(i int, s *Symbol) error {
	w := wordReader{t.big}
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
	return t.mapSection(i, s)
}

// mapSection translates s.Section, the section of symbol i, to an index into File.Sections if the
// table comes from another file.
func (t *symtab) mapSection(i int, s *Symbol) error {
	if t.ours == nil {
		return nil
	}
	to := t.ours[s.Section]
	if to == 0 {
		return t.sec.errorf("symbol %d: its section %d (%s) is not in the debug file; "+sameLink, i,
			s.Section, message.Printable(t.sec.f.Sections[s.Section].Name))
	}
	s.Section = to
	return nil
}

// resolve sets Place and Section of symbol i if its index shndx is reserved, zero or too large.
func (t *symtab) resolve(i int, shndx uint16, s *Symbol) error {
	idx := uint32(shndx)
	s.Section = -1
	switch {
	case shndx == xindex && t.shndx == nil:
		return t.sec.damaged(
			"symbol %d: its section index is in SHT_SYMTAB_SHNDX, which is missing", i)
	case shndx == xindex:
		idx = wordReader{t.big}.u32(t.shndx[4*i:])
	case shndx == uint16(stdelf.SHN_ABS):
		s.Place = Absolute
	case shndx == uint16(stdelf.SHN_COMMON):
		s.Place = Common
	case shndx >= uint16(stdelf.SHN_LORESERVE):
		s.Place = OtherPlace
	}
	if s.Place != InSection {
		return nil
	}
	if idx == 0 {
		s.Place = Undefined
		return nil
	}
	if int64(idx) >= int64(len(t.sec.f.Sections)) {
		return t.sec.damaged("symbol %d: its section is %d, past the last", i, idx)
	}
	s.Section = int32(idx)
	return t.mapSection(i, s)
}

// maxName is the maximum length, in bytes, of a name that is read. It limits the time that reading
// a hostile table without NUL bytes can take.
const maxName = 1 << 16

// Names of symbols may share bytes: several symbols may have the same name, and a name may be the
// end of another. So a hostile table can have names that are far longer in total than the file. If
// a name has usualName bytes or more, the total is limited to maxShared times the size of the
// string table and the symbol table.
const (
	usualName = 512
	maxShared = 16
)

// stringAt returns the NUL-terminated string at an offset of a string table (SHT_STRTAB). The
// string shares the table's memory. ok is false if the offset is out of range, or if the string has
// no NUL or is too long.
func stringAt(tab []byte, off uint32) (s string, ok bool) {
	if off == 0 && len(tab) == 0 {
		return "", true
	}
	if int64(off) >= int64(len(tab)) {
		return "", false
	}
	n := bytes.IndexByte(tab[off:min(int64(off)+maxName+1, int64(len(tab)))], 0)
	if n < 0 {
		return "", false
	}
	return unsafe.String(unsafe.SliceData(tab[off:]), n), true
}

// areUsual reports whether every string of a table has a NUL and is shorter than usualName. Then
// the names need not be checked one by one.
func areUsual(tab []byte) bool {
	for len(tab) > 0 {
		end := bytes.LastIndexByte(tab[:min(usualName, len(tab))], 0)
		if end < 0 {
			return false
		}
		tab = tab[end+1:]
	}
	return true
}
