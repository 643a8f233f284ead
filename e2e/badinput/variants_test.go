package badinput

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math/rand"
	"strings"
)

// variant is a broken copy of a file: the copy is cut short, has one changed header field, or has
// some changed bytes in a section.
type variant struct {
	Name string
	Data []byte
}

// field is a field of a header.
type field struct {
	name         string
	offset, size int // in bytes
}

var (
	// Fields of Elf64_Ehdr.
	fileFields = []field{
		{"magic", 0, 4}, {"class", 4, 1}, {"data", 5, 1}, {"version", 6, 1}, {"type", 16, 2},
		{"machine", 18, 2}, {"phoff", 32, 8}, {"shoff", 40, 8}, {"ehsize", 52, 2},
		{"phentsize", 54, 2}, {"phnum", 56, 2},
		{"shentsize", 58, 2}, {"shnum", 60, 2}, {"shstrndx", 62, 2},
	}
	// Fields of Elf64_Shdr.
	sectionFields = []field{
		{"name", 0, 4}, {"type", 4, 4}, {"flags", 8, 8}, {"offset", 24, 8}, {"size", 32, 8},
		{"link", 40, 4}, {"info", 44, 4}, {"addralign", 48, 8}, {"entsize", 56, 8},
	}
	// Fields of struct btf_header.
	btfFields = []field{
		{"magic", 0, 2}, {"version", 2, 1}, {"flags", 3, 1}, {"hdr_len", 4, 4}, {"type_off", 8, 4},
		{"type_len", 12, 4}, {"str_off", 16, 4}, {"str_len", 20, 4},
	}
)

// values returns the numbers to which a field of size bytes is set: the smallest and largest
// numbers that fit, half the largest, and numbers close to the old value or one bit away from it.
func values(old uint64, size int) []uint64 {
	most := uint64(1)<<(8*size) - 1
	if size == 8 {
		most = 1<<64 - 1
	}
	return []uint64{0, most, most >> 1, old + 1, old - 1, old ^ 1<<(4*size)}
}

// elfVariants returns variants of a 64-bit little-endian ELF file.
func elfVariants(data []byte) ([]variant, error) {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var out []variant
	out = append(out, setFields("header", data, 0, fileFields)...)
	shoff := int(binary.LittleEndian.Uint64(data[40:]))
	for i, s := range f.Sections {
		name := fmt.Sprintf("%d %s", i, s.Name)
		if isRead(s) {
			out = append(out, setFields("section "+name, data, shoff+64*i, sectionFields)...)
		}
		if i == 0 || s.Type == elf.SHT_NOBITS || s.FileSize == 0 {
			continue
		}
		start, end := int(s.Offset), int(s.Offset+s.FileSize)
		out = append(out,
			variant{"cut at the start of " + name, bytes.Clone(data[:start])},
			variant{"cut in the middle of " + name, bytes.Clone(data[:(start+end)/2])},
			variant{"cut at the last byte of " + name, bytes.Clone(data[:end-1])})
		if isRead(s) {
			out = append(out, bytesOf(name, data, start, end)...)
		}
	}
	out = append(out, variant{"cut before the section headers", bytes.Clone(data[:shoff])})
	return out, nil
}

// isRead reports whether the tools read sections with the type or name of s.
func isRead(s *elf.Section) bool {
	switch s.Type {
	case elf.SHT_SYMTAB, elf.SHT_STRTAB, elf.SHT_SYMTAB_SHNDX:
		return true
	}
	for _, prefix := range []string{".debug_info", ".debug_abbrev", ".debug_str", ".debug_addr",
		".debug_types", ".rela.debug_info", ".rela.debug_str_offsets", ".BTF", ".debug_loclists",
		".data..percpu"} {
		if strings.HasPrefix(s.Name, prefix) {
			return true
		}
	}
	return false
}

// btfVariants returns variants of a raw little-endian BTF file.
func btfVariants(data []byte) []variant {
	out := setFields("header", data, 0, btfFields)
	for _, part := range []int{1, 8, 23, 24, 25, len(data) / 4, len(data) / 2, len(data) - 1} {
		out = append(out, variant{fmt.Sprintf("cut at byte %d", part), bytes.Clone(data[:part])})
	}
	return append(out, bytesOf("blob", data, 24, len(data))...)
}

// archiveVariants returns variants of an ar archive.
func archiveVariants(data []byte) []variant {
	var out []variant
	for _, part := range []int{1, 7, 8, 9, 60, 67, 68, 100, len(data) / 2, len(data) - 1} {
		if part < len(data) {
			out = append(out, variant{fmt.Sprintf("cut at byte %d", part), bytes.Clone(data[:part])})
		}
	}
	return append(out, bytesOf("headers", data, 8, min(68+120, len(data)))...)
}

// setFields returns variants of a file. In each variant, one of the given fields is changed. The
// offsets of the fields count from base.
func setFields(what string, data []byte, base int, fields []field) []variant {
	var out []variant
	for _, f := range fields {
		if base+f.offset+f.size > len(data) {
			continue
		}
		var word [8]byte
		copy(word[:], data[base+f.offset:base+f.offset+f.size])
		old := binary.LittleEndian.Uint64(word[:])
		for _, v := range values(old, f.size) {
			binary.LittleEndian.PutUint64(word[:], v)
			d := bytes.Clone(data)
			copy(d[base+f.offset:base+f.offset+f.size], word[:f.size])
			if !bytes.Equal(d, data) {
				out = append(out, variant{fmt.Sprintf("%s: %s = %#x", what, f.name, v), d})
			}
		}
	}
	return out
}

// bytesOf returns variants with changed bytes in [start, end): some with one flipped bit (the same
// bits in every run), one with 64 bytes set to 0, and one with 64 bytes set to 0xff.
func bytesOf(what string, data []byte, start, end int) []variant {
	var out []variant
	random := rand.New(rand.NewSource(int64(end - start)))
	for n := 0; n < 8 && start < end; n++ {
		at := start + random.Intn(end-start)
		d := bytes.Clone(data)
		d[at] ^= 1 << random.Intn(8)
		out = append(out, variant{fmt.Sprintf("%s: a bit of byte %#x", what, at-start), d})
	}
	for _, fill := range []byte{0, 0xff} {
		d := bytes.Clone(data)
		at := start + (end-start)/3
		for i := at; i < min(at+64, end); i++ {
			d[i] = fill
		}
		out = append(out, variant{fmt.Sprintf("%s: 64 bytes of %#x", what, fill), d})
	}
	return out
}
