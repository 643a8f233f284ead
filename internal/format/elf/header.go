package elf

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Sizes of the headers by class, as in the gABI.
const (
	ehdrSize32, ehdrSize64 = 52, 64
	shdrSize32, shdrSize64 = 40, 64
)

// xindex is SHN_XINDEX: the real index does not fit in 16 bits and is stored elsewhere.
const xindex = 0xffff

func (f *File) parseHeader() error {
	d := f.data
	if len(d) < 16 {
		return f.damaged("truncated ELF header: %d bytes", len(d))
	}
	size := ehdrSize64
	switch stdelf.Class(d[stdelf.EI_CLASS]) {
	case stdelf.ELFCLASS32:
		f.AddrSize, size = 4, ehdrSize32
	case stdelf.ELFCLASS64:
		f.AddrSize = 8
	default:
		return f.damaged("bad ELF header: class %d is neither 1 (32-bit) nor 2 (64-bit)",
			d[stdelf.EI_CLASS])
	}
	switch stdelf.Data(d[stdelf.EI_DATA]) {
	case stdelf.ELFDATA2LSB:
		f.Order = binary.LittleEndian
	case stdelf.ELFDATA2MSB:
		f.Order = binary.BigEndian
	default:
		return f.damaged(
			"bad ELF header: data encoding %d is neither 1 (little-endian) nor 2 (big-endian)",
			d[stdelf.EI_DATA])
	}
	if len(d) < size {
		return f.damaged("truncated ELF header: %d of %d bytes", len(d), size)
	}
	bo := f.Order
	f.Type = stdelf.Type(bo.Uint16(d[16:]))
	f.Machine = stdelf.Machine(bo.Uint16(d[18:]))
	var shoff uint64
	var tail []byte // starting at e_flags
	if f.AddrSize == 8 {
		shoff, tail = bo.Uint64(d[40:]), d[48:]
	} else {
		shoff, tail = uint64(bo.Uint32(d[32:])), d[36:]
	}
	shentsize, shnum, shstrndx := bo.Uint16(tail[10:]), bo.Uint16(tail[12:]), bo.Uint16(tail[14:])
	if shoff == 0 {
		return nil
	}
	return f.parseSections(shoff, int(shentsize), uint64(shnum), uint32(shstrndx))
}

// parseSections reads the section headers. Header 0 has the numbers that the ELF header can't hold.
func (f *File) parseSections(shoff uint64, entsize int, num uint64, strndx uint32) error {
	want := shdrSize64
	if f.AddrSize == 4 {
		want = shdrSize32
	}
	if entsize < want {
		return f.damaged("bad ELF header: section headers have %d bytes, but need %d", entsize, want)
	}
	total := uint64(len(f.data))
	if shoff > total || total-shoff < uint64(want) {
		return f.damaged("truncated: section headers start at byte %d of %d", shoff, total)
	}
	table := f.data[shoff:]
	var first Section
	f.readSectionHeader(&first, table)
	if num == 0 {
		num = first.Size
	}
	if strndx == xindex {
		strndx = first.Link
	}
	if num > uint64(len(table)/entsize) {
		return f.damaged("truncated: %d section headers of %d bytes at byte %d do not fit in %d bytes",
			num, entsize, shoff, total)
	}
	secs, sum := make([]Section, num), uint64(0)
	f.Sections = make([]*Section, num)
	for i := range secs {
		s := &secs[i]
		s.f, s.Index = f, i
		f.Sections[i] = s
		f.readSectionHeader(s, table[i*entsize:])
		if i == 0 || s.Type == stdelf.SHT_NOBITS || s.Type == stdelf.SHT_NULL {
			continue
		}
		if s.Offset > total || s.Size > total-s.Offset {
			return f.damaged("truncated: section %d (bytes %d to %d) ends past the end of the file "+
				"(%d bytes)", i, s.Offset, s.Offset+s.Size, total)
		}
		// The gABI says that sections do not overlap, but in some files string tables share bytes.
		if sum += s.Size; sum > 2*total {
			return f.damaged("corrupt: sections overlap: the first %d have %d bytes, but the file has %d",
				i+1, sum, total)
		}
		s.raw = f.data[s.Offset : s.Offset+s.Size : s.Offset+s.Size]
	}
	return f.nameSections(strndx)
}

// readSectionHeader reads the section header at the start of b, except for the name, which
// nameSections looks up later, when the string table is known.
func (f *File) readSectionHeader(s *Section, b []byte) {
	bo := f.Order
	word := func() (v uint64) { // the next field that has the size of an address
		if f.AddrSize == 8 {
			v, b = bo.Uint64(b), b[8:]
		} else {
			v, b = uint64(bo.Uint32(b)), b[4:]
		}
		return v
	}
	s.nameOff, s.Type, b = bo.Uint32(b), stdelf.SectionType(bo.Uint32(b[4:])), b[8:]
	s.Flags, s.Addr, s.Offset, s.Size = stdelf.SectionFlag(word()), word(), word(), word()
	s.Link, s.Info, b = bo.Uint32(b), bo.Uint32(b[4:]), b[8:]
	s.Align = word()
}

func (f *File) nameSections(strndx uint32) error {
	if strndx == 0 { // SHN_UNDEF: no names
		return nil
	}
	if int64(strndx) >= int64(len(f.Sections)) {
		return f.damaged("bad ELF header: the section name table is section %d, past the last", strndx)
	}
	tab := f.Sections[strndx].raw
	for _, s := range f.Sections[1:] {
		name, ok := stringAt(tab, s.nameOff)
		if !ok {
			return f.damaged("section %d: name at offset %d is not a string of the name table (%d bytes)",
				s.Index, s.nameOff, len(tab))
		}
		s.Name = name
	}
	return nil
}

// ErrBitcode is the error for a file that has no machine code yet.
var ErrBitcode = errors.New("LLVM bitcode (made with -flto), not an ELF file; " +
	"pass the object that the linker makes from it, or compile without -flto")

const readsBTF = "btfdedup merge, link and diff read it (or are this file and that of --btf " +
	"swapped?)"

// foreign lists formats of files that people pass by mistake, and how such files begin.
var foreign = []struct {
	magic string
	text  string
}{
	{"BC\xc0\xde", ErrBitcode.Error()},
	{"\xde\xc0\x17\x0b", "wrapped " + ErrBitcode.Error()},
	{archiveMagic, "an ar archive, not an ELF file; btfgen object converts all of its members"},
	{thinMagic, "a thin ar archive, not an ELF file; btfgen object converts all of its members"},
	{"\x1f\x8b", "gzip-compressed; decompress it first (gzip -d)"},
	{"\xfd7zXZ\x00", "xz-compressed; decompress it first (xz -d)"},
	{"\x28\xb5\x2f\xfd", "zstd-compressed; decompress it first (zstd -d)"},
	{"\x9f\xeb", "raw BTF (little-endian), not an ELF file; " + readsBTF},
	{"\xeb\x9f", "raw BTF (big-endian), not an ELF file; " + readsBTF},
	{"MZ", "a kernel image or another EFI program, not an ELF file; pass vmlinux, or extract the " +
		"BTF of the image with btfdedup import"},
	{"BTFBASE\x00", "this is an index, which can only be a --base of a link; pass the BTF itself"},
}

// Foreign describes the format of data that isn't ELF, and says what to do about it. It returns ""
// if the format is unknown.
func Foreign(data []byte) string {
	for _, k := range foreign {
		if bytes.HasPrefix(data, []byte(k.magic)) {
			return k.text
		}
	}
	return ""
}

const elfMagic = "\x7fELF"

// checkMagic returns an error unless data starts like an ELF file. The error names the format of
// the data, if it is known.
func checkMagic(name string, data []byte) error {
	if err := magicError(name, data); err != nil {
		return message.Marked(err, ErrNotELF)
	}
	return nil
}

// ErrNotELF is what errors.Is finds in the error for a file that is not an ELF file.
var ErrNotELF = errors.New("not an ELF file")

func magicError(name string, data []byte) error {
	switch {
	case bytes.HasPrefix(data, []byte(elfMagic)):
		return nil
	case len(data) == 0:
		return fmt.Errorf("%s: %w", name, message.Empty("an ELF file"))
	}
	if text := Foreign(data); text != "" {
		if before, ok := strings.CutSuffix(text, ErrBitcode.Error()); ok {
			return fmt.Errorf("%s: %s%w", name, before, ErrBitcode)
		}
		return fmt.Errorf("%s: %s", name, text)
	}
	return fmt.Errorf("%s: not an ELF file (starts with %q); "+
		"pass an object file, a kernel module or a linked vmlinux", name, data[:min(4, len(data))])
}
