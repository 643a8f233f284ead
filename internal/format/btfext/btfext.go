// Package btfext reads and writes the CO-RE relocations in the section .BTF.ext of a BPF program.
// The relocations say which instructions depend on the kernel's types. They are grouped by section
// of the program. The rest of .BTF.ext (function and line information) is not read.
//
// The format is described at struct btf_ext_header in libbpf's libbpf_internal.h. After the header
// comes, for each kind of information, the size of a record and a list of sections with their
// records. libbpf accepts headers and records that are longer than the ones it knows, and so does
// Parse.
package btfext

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// SectionName is the section's name in ELF files.
const SectionName = ".BTF.ext"

const (
	magic      = 0xeb9f
	headerLen  = 32 // with core_relo_off and core_relo_len
	minHeader  = 24 // without these two fields, as compilers without CO-RE write it
	recordLen  = 16 // struct bpf_core_relo
	sectionLen = 8  // struct btf_ext_info_sec
)

// Relocation is one struct bpf_core_relo.
type Relocation struct {
	Insn   uint32 // offset of the instruction in its section, in bytes
	Type   uint32 // id in the program's BTF
	Access uint32 // string offset in that BTF; the string is like "0:1:2"
	Kind   uint32 // enum bpf_core_relo_kind
}

// Section has the relocations of one section of the program.
type Section struct {
	Name        uint32 // string offset in the program's BTF
	Relocations []Relocation
}

// Parse returns the relocations in data, the content of a section .BTF.ext. Errors name the offset
// in the section.
func Parse(data []byte, order binary.ByteOrder) ([]Section, error) {
	if len(data) < minHeader {
		return nil, fmt.Errorf("the section has %d bytes, but its header alone must have %d",
			len(data), minHeader)
	}
	if m := order.Uint16(data); m != magic {
		return nil, fmt.Errorf("it starts with %#04x, expected %#04x", m, magic)
	}
	if data[2] != 1 {
		return nil, fmt.Errorf("unknown version %d; only version 1 is known", data[2])
	}
	header := order.Uint32(data[4:])
	if header < minHeader || uint64(header) > uint64(len(data)) {
		return nil, fmt.Errorf("the header length %d is out of bounds: the section has %d "+
			"bytes", header, len(data))
	}
	if header < headerLen {
		return nil, nil
	}
	off, size := order.Uint32(data[24:]), order.Uint32(data[28:])
	if size == 0 {
		return nil, nil
	}
	start, end := uint64(header)+uint64(off), uint64(header)+uint64(off)+uint64(size)
	if off%4 != 0 || end > uint64(len(data)) {
		return nil, fmt.Errorf("the CO-RE relocations, at bytes %#x to %#x, must be aligned to "+
			"4 bytes and inside the section (%#x bytes)",
			start, end, len(data))
	}
	r := reader{order, data[:end], start}
	return r.sections()
}

// reader reads data. The field at is the index of the next byte.
type reader struct {
	order binary.ByteOrder
	data  []byte
	at    uint64
}

func (r *reader) left() uint64 { return uint64(len(r.data)) - r.at }

func (r *reader) u32() uint32 {
	v := r.order.Uint32(r.data[r.at:])
	r.at += 4
	return v
}

func (r *reader) sections() (list []Section, err error) {
	if r.left() < 4 {
		return nil, fmt.Errorf("the CO-RE relocations at %#x are too short for their record "+
			"size", r.at)
	}
	size := uint64(r.u32())
	if size < recordLen || size%4 != 0 {
		return nil, fmt.Errorf("the record size is %d bytes (at %#x), expected %d", size, r.at-4,
			recordLen)
	}
	for r.left() > 0 {
		if r.left() < sectionLen {
			return nil, fmt.Errorf("truncated at %#x: the header of a section must have %d "+
				"bytes", r.at, sectionLen)
		}
		s := Section{Name: r.u32()}
		n := uint64(r.u32())
		if n == 0 || n > r.left()/size {
			return nil, fmt.Errorf("%d relocations at %#x, but only %d bytes are left", n, r.at,
				r.left())
		}
		s.Relocations = make([]Relocation, n)
		for i := range s.Relocations {
			next := r.at + size
			s.Relocations[i] = Relocation{r.u32(), r.u32(), r.u32(), r.u32()}
			r.at = next
		}
		list = append(list, s)
	}
	return list, nil
}

// Encode returns a section .BTF.ext with these relocations and nothing else.
func Encode(sections []Section, order binary.ByteOrder) ([]byte, error) {
	b := make([]byte, headerLen)
	order.PutUint16(b, magic)
	b[2] = 1
	order.PutUint32(b[4:], headerLen)
	if len(sections) == 0 {
		return b, nil
	}
	put := func(values ...uint32) {
		for _, v := range values {
			b = binary.NativeEndian.AppendUint32(b, 0)
			order.PutUint32(b[len(b)-4:], v)
		}
	}
	put(recordLen)
	for _, s := range sections {
		put(s.Name, uint32(len(s.Relocations)))
		for _, r := range s.Relocations {
			put(r.Insn, r.Type, r.Access, r.Kind)
		}
	}
	if len(b) > math.MaxInt32 {
		return nil, fmt.Errorf("%d bytes of relocations don't fit in a section", len(b))
	}
	order.PutUint32(b[28:], uint32(len(b)-headerLen))
	return slices.Clip(b), nil
}
