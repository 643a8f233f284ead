package bpfobj

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/programs/core"
)

const insnLen = 8

// Insn is one instruction slot: struct bpf_insn. A 64-bit load takes two slots.
type Insn struct {
	Op       uint8
	Dst, Src uint8
	Off      int16
	Imm      int32
}

// Classes of instructions and the parts of Op, from include/uapi/linux/bpf.h.
const (
	ClassLD    = 0x00
	ClassLDX   = 0x01
	ClassST    = 0x02
	ClassSTX   = 0x03
	ClassALU   = 0x04
	ClassJMP   = 0x05
	ClassJMP32 = 0x06
	ClassALU64 = 0x07

	opCall    = 0x85 // JMP | CALL
	opLoadImm = 0x18 // LD | IMM | DW

	pseudoCall = 1 // Src of a call of a BPF function
)

// Class is the instruction's class.
func (i Insn) Class() uint8 { return i.Op & 7 }

// IsWide reports whether the instruction takes two slots, as a 64-bit load does.
func (i Insn) IsWide() bool { return i.Op == opLoadImm }

// accessed returns how many bytes the instruction loads or stores.
func (i Insn) accessed() uint8 {
	switch i.Class() {
	case ClassLDX, ClassST, ClassSTX:
		return [...]uint8{4, 2, 1, 8}[i.Op>>3&3]
	}
	return 0
}

func decode(data []byte, order binary.ByteOrder) []Insn {
	insns := make([]Insn, len(data)/insnLen)
	for n := range insns {
		b := data[n*insnLen:]
		i := Insn{Op: b[0], Dst: b[1] & 15, Src: b[1] >> 4, Off: int16(order.Uint16(b[2:])),
			Imm: int32(order.Uint32(b[4:]))}
		if order == binary.BigEndian {
			i.Dst, i.Src = i.Src, i.Dst
		}
		insns[n] = i
	}
	return insns
}

// readFunctions finds the functions in all sections with code.
func (r *reader) readFunctions() error {
	contents := map[elf.SectionIndex][]byte{}
	for _, s := range r.symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Section == elf.SHN_UNDEF {
			continue
		}
		if int(s.Section) >= len(r.file.Sections) {
			return fmt.Errorf("symbol %s: its section is %d, but there are only %d", s.Name, s.Section,
				len(r.file.Sections))
		}
		section := r.file.Sections[s.Section]
		if section.Type != elf.SHT_PROGBITS || section.Flags&elf.SHF_EXECINSTR == 0 {
			continue
		}
		code, ok := contents[s.Section]
		if !ok {
			var err error
			if code, err = section.Data(); err != nil {
				return fmt.Errorf("section %s: %w", section.Name, err)
			}
			contents[s.Section] = code
		}
		if s.Value > uint64(len(code)) || s.Size > uint64(len(code))-s.Value || s.Value%insnLen != 0 ||
			s.Size%insnLen != 0 || s.Size == 0 {
			return fmt.Errorf("symbol %s: the bytes %#x to %#x aren't instructions of section %s, which "+
				"has %#x bytes", s.Name, s.Value, s.Value+s.Size, section.Name, len(code))
		}
		bind := elf.ST_BIND(s.Info)
		visibility := elf.ST_VISIBILITY(s.Other)
		f := &Function{Name: s.Name, Section: section.Name, Program: section.Name != ".text",
			Global: bind != elf.STB_LOCAL && visibility != elf.STV_HIDDEN &&
				visibility != elf.STV_INTERNAL,
			Insns: decode(code[s.Value:s.Value+s.Size], r.order), start: s.Value, in: s.Section}
		f.makeMaps()
		if f.Program && bind == elf.STB_LOCAL {
			return fmt.Errorf("the program %s in section %s is static, which libbpf refuses", s.Name,
				section.Name)
		}
		r.object.Functions = append(r.object.Functions, f)
	}
	slices.SortFunc(r.object.Functions, func(a, b *Function) int {
		return cmp.Or(cmp.Compare(a.in, b.in), cmp.Compare(a.start, b.start),
			cmp.Compare(a.Name, b.Name))
	})
	for i, f := range r.object.Functions[min(1, len(r.object.Functions)):] {
		before := r.object.Functions[i]
		if f.in == before.in && f.start < before.end() {
			return fmt.Errorf("the functions %s and %s in section %s overlap", before.Name, f.Name,
				f.Section)
		}
	}
	return nil
}

// makeMaps gives a function empty maps.
func (f *Function) makeMaps() {
	f.Relocations = map[int]core.Relocation{}
	f.Calls = map[int]*Function{}
	f.Uses = map[int]string{}
	f.Data = map[int]Address{}
}
