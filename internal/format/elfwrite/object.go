package elfwrite

import (
	stdelf "debug/elf"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// Section is a section of plain data (SHT_PROGBITS).
type Section struct {
	Name  string
	Data  []byte
	Align uint64 // alignment of the data in the file: a power of two up to 4096; 0 means 1
	Alloc bool   // whether the section is loaded when the program runs (SHF_ALLOC)
}

const maxAlign = 4096

// header returns the header of the section, without its place in the file.
func (s Section) header(name uint32) sectionHeader {
	h := sectionHeader{name: name, typ: uint32(stdelf.SHT_PROGBITS), size: uint64(len(s.Data)),
		addralign: max(s.Align, 1)}
	if s.Alloc {
		h.flags = uint64(stdelf.SHF_ALLOC)
	}
	return h
}

func (s Section) check() error {
	switch {
	case s.Name == "" || strings.ContainsRune(s.Name, 0):
		return fmt.Errorf("section name %q: must be text without NUL bytes", s.Name)
	case s.Align&(s.Align-1) != 0 || s.Align > maxAlign:
		return fmt.Errorf("section %q: alignment %d must be a power of two, at most "+
			"%d", s.Name, s.Align,
			maxAlign)
	}
	return nil
}

// File is a relocatable ELF file without code. It has a symbol table with only the null entry,
// because some readers refuse files without a symbol table.
type File struct {
	AddrSize int // 4 (ELFCLASS32) or 8 (ELFCLASS64)
	Order    binary.ByteOrder
	Machine  uint16 // EM_*
	Flags    uint32 // e_flags, specific to the machine; linkers compare them
	Sections []Section
}

// Like returns an object without sections for the machine and the ABI of f.
func Like(f *elf.File) *File {
	at := class{f.AddrSize == 8, f.Order}.flagsOffset()
	return &File{AddrSize: f.AddrSize, Order: f.Order, Machine: uint16(f.Machine),
		Flags: f.Order.Uint32(f.Bytes()[at:])}
}

// Bytes returns the file: header, sections in the given order, symbol table, string table (for
// sections and symbols), section headers. Several sections may have the same name. It returns an
// error if o has invalid values.
func (o *File) Bytes() ([]byte, error) {
	c, err := newClass(o.AddrSize, o.Order)
	if err != nil {
		return nil, err
	}
	headers := make([]sectionHeader, 1, len(o.Sections)+3)
	names := []byte{0}
	total := uint64(c.ehdrSize())
	for _, s := range o.Sections {
		if err := s.check(); err != nil {
			return nil, err
		}
		h := s.header(uint32(len(names)))
		total += padding(total, h.addralign)
		h.offset = total
		headers = append(headers, h)
		names = append(append(names, s.Name...), 0)
		total += uint64(len(s.Data))
	}
	total += padding(total, 8)
	strndx := len(o.Sections) + 2
	symSize := c.pick(16, 24)
	headers = append(headers, sectionHeader{name: uint32(len(names)), typ: uint32(stdelf.SHT_SYMTAB),
		offset: total, size: uint64(symSize), link: uint32(strndx), info: 1, addralign: 8,
		entsize: uint64(symSize)})
	names = append(names, ".symtab\x00"...)
	total += uint64(symSize)
	strtab := sectionHeader{name: uint32(len(names)), typ: uint32(stdelf.SHT_STRTAB), offset: total,
		addralign: 1}
	names = append(names, ".strtab\x00"...)
	strtab.size = uint64(len(names))
	headers = append(headers, strtab)
	total += strtab.size
	shoff := total + padding(total, 8)
	total = shoff + uint64(len(headers)*c.shdrSize())
	if err := c.checkSize(total); err != nil {
		return nil, err
	}

	out := make([]byte, c.ehdrSize(), total)
	o.putHeader(out, c)
	c.setSectionTable(out, &headers[0], shoff, len(headers), strndx)
	for _, s := range o.Sections {
		out = append(pad(out, max(s.Align, 1)), s.Data...)
	}
	out = append(pad(out, 8), make([]byte, symSize)...)
	out = pad(append(out, names...), 8)
	for _, h := range headers {
		out = c.appendSectionHeader(out, h)
	}
	return out, nil
}

// putHeader writes the ELF header, except for what setSectionTable writes.
func (o *File) putHeader(b []byte, c class) {
	copy(b, stdelf.ELFMAG)
	b[stdelf.EI_CLASS] = byte(c.pick(int(stdelf.ELFCLASS32), int(stdelf.ELFCLASS64)))
	b[stdelf.EI_DATA] = byte(stdelf.ELFDATA2LSB)
	if o.Order == binary.BigEndian {
		b[stdelf.EI_DATA] = byte(stdelf.ELFDATA2MSB)
	}
	b[stdelf.EI_VERSION] = byte(stdelf.EV_CURRENT)
	c.bo.PutUint16(b[16:], uint16(stdelf.ET_REL))
	c.bo.PutUint16(b[18:], o.Machine)
	c.bo.PutUint32(b[20:], uint32(stdelf.EV_CURRENT))
	tail := b[c.flagsOffset():]
	c.bo.PutUint32(tail, o.Flags)
	c.bo.PutUint16(tail[4:], uint16(c.ehdrSize()))
}
