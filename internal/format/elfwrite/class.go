package elfwrite

import (
	stdelf "debug/elf"
	"encoding/binary"
	"fmt"
	"math"
)

// xindex in e_shstrndx or e_phnum means that the real value is in section header 0.
const xindex = uint16(stdelf.SHN_XINDEX)

// class is the class and byte order of a file. The sizes and the encoding of fields depend on them.
type class struct {
	wide bool // ELFCLASS64
	bo   binary.ByteOrder
}

func newClass(addrSize int, bo binary.ByteOrder) (class, error) {
	if addrSize != 4 && addrSize != 8 {
		return class{}, fmt.Errorf("ELF address size %d is neither 4 nor 8", addrSize)
	}
	if bo != binary.LittleEndian && bo != binary.BigEndian {
		return class{}, fmt.Errorf("ELF byte order %v is neither little- nor big-endian", bo)
	}
	return class{addrSize == 8, bo}, nil
}

func (c class) ehdrSize() int { return c.pick(52, 64) }
func (c class) shdrSize() int { return c.pick(40, 64) }
func (c class) addrSize() int { return c.pick(4, 8) }

// flagsOffset is the offset of e_flags in the ELF header. The last six fields follow e_flags.
func (c class) flagsOffset() int { return c.pick(36, 48) }

// pick returns narrow for ELFCLASS32 and wide for ELFCLASS64.
func (c class) pick(narrow, wide int) int {
	if c.wide {
		return wide
	}
	return narrow
}

// putAddr writes a field that is as wide as an address.
func (c class) putAddr(b []byte, v uint64) {
	if c.wide {
		c.bo.PutUint64(b, v)
	} else {
		c.bo.PutUint32(b, uint32(v))
	}
}

// addr reads a field that is as wide as an address.
func (c class) addr(b []byte) uint64 {
	if c.wide {
		return c.bo.Uint64(b)
	}
	return uint64(c.bo.Uint32(b))
}

// checkSize returns an error if a file of size bytes has offsets that are too large for its class.
func (c class) checkSize(size uint64) error {
	if !c.wide && size > math.MaxUint32 {
		return fmt.Errorf("%d bytes do not fit in a 32-bit ELF file", size)
	}
	return nil
}

// sectionHeader is an Elf32_Shdr or Elf64_Shdr.
type sectionHeader struct {
	name      uint32
	typ       uint32
	flags     uint64
	addr      uint64
	offset    uint64
	size      uint64
	link      uint32
	info      uint32
	addralign uint64
	entsize   uint64
}

func (c class) appendSectionHeader(out []byte, h sectionHeader) []byte {
	at := len(out)
	out = append(out, make([]byte, c.shdrSize())...)
	b := out[at:]
	n := c.addrSize()
	c.bo.PutUint32(b, h.name)
	c.bo.PutUint32(b[4:], h.typ)
	b = b[8:]
	for _, v := range [4]uint64{h.flags, h.addr, h.offset, h.size} {
		c.putAddr(b, v)
		b = b[n:]
	}
	c.bo.PutUint32(b, h.link)
	c.bo.PutUint32(b[4:], h.info)
	c.putAddr(b[8:], h.addralign)
	c.putAddr(b[8+n:], h.entsize)
	return out
}

func (c class) sectionHeader(b []byte) (h sectionHeader) {
	n := c.addrSize()
	h.name, h.typ = c.bo.Uint32(b), c.bo.Uint32(b[4:])
	b = b[8:]
	for _, p := range [4]*uint64{&h.flags, &h.addr, &h.offset, &h.size} {
		*p = c.addr(b)
		b = b[n:]
	}
	h.link, h.info = c.bo.Uint32(b), c.bo.Uint32(b[4:])
	h.addralign, h.entsize = c.addr(b[8:]), c.addr(b[8+n:])
	return h
}

// setSectionTable writes the offset, number and size of the section headers to an ELF header.
// Numbers that are too large for the ELF header go into section header 0, the parameter null.
func (c class) setSectionTable(ehdr []byte, null *sectionHeader, shoff uint64, num, strndx int) {
	c.putAddr(ehdr[c.pick(32, 40):], shoff)
	tail := ehdr[c.flagsOffset():]
	c.bo.PutUint16(tail[10:], uint16(c.shdrSize()))
	null.size, null.link = 0, 0
	shnum, shstrndx := uint16(num), uint16(strndx)
	if num >= int(stdelf.SHN_LORESERVE) {
		shnum, null.size = 0, uint64(num)
	}
	if strndx >= int(stdelf.SHN_LORESERVE) {
		shstrndx, null.link = xindex, uint32(strndx)
	}
	c.bo.PutUint16(tail[12:], shnum)
	c.bo.PutUint16(tail[14:], shstrndx)
}

func pad(out []byte, align uint64) []byte {
	return append(out, make([]byte, padding(uint64(len(out)), align))...)
}

func padding(size, align uint64) uint64 { return -size & (align - 1) }
