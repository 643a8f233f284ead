package elf

import (
	stdelf "debug/elf"
	"encoding/binary"
)

// testSection is a section that buildELF writes.
type testSection struct {
	name       string
	typ        stdelf.SectionType
	flags      stdelf.SectionFlag
	addr       uint64
	align      uint64
	data       []byte
	size       uint64 // for SHT_NOBITS
	link, info uint32
}

// buildELF makes a 64-bit little-endian file from sections, whose indexes begin at 1. A section
// name table follows them.
func buildELF(typ stdelf.Type, machine stdelf.Machine, sections []testSection) []byte {
	le := binary.LittleEndian
	names := []byte{0}
	out := make([]byte, 64)
	table := make([]byte, 64)
	put := func(s testSection) {
		h := make([]byte, 64)
		le.PutUint32(h, uint32(len(names)))
		names = append(append(names, s.name...), 0)
		le.PutUint32(h[4:], uint32(s.typ))
		le.PutUint64(h[8:], uint64(s.flags))
		le.PutUint64(h[16:], s.addr)
		le.PutUint64(h[24:], uint64(len(out)))
		if s.name == ".shstrtab" {
			s.data = names
		}
		le.PutUint64(h[32:], max(s.size, uint64(len(s.data))))
		le.PutUint32(h[40:], s.link)
		le.PutUint32(h[44:], s.info)
		le.PutUint64(h[48:], s.align)
		out = append(out, s.data...)
		table = append(table, h...)
	}
	for _, s := range sections {
		put(s)
	}
	put(testSection{name: ".shstrtab", typ: stdelf.SHT_STRTAB})
	copy(out, "\x7fELF\x02\x01\x01")
	le.PutUint16(out[16:], uint16(typ))
	le.PutUint16(out[18:], uint16(machine))
	le.PutUint64(out[40:], uint64(len(out)))
	le.PutUint16(out[52:], 64)
	le.PutUint16(out[58:], 64)
	le.PutUint16(out[60:], uint16(len(sections)+2))
	le.PutUint16(out[62:], uint16(len(sections)+1))
	return append(out, table...)
}
