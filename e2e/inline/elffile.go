package inline

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// elfFile has the sections of an ELF file that the reader needs, as they would be if the file were
// linked: in a relocatable file, each section gets an address, and relocations are applied.
type elfFile struct {
	*elf.File
	symbols []elf.Symbol
	debug   map[string][]byte // the debugging sections, by name
}

// needed are the debugging sections that the reader needs, without ".debug_".
var needed = []string{"abbrev", "addr", "info", "line_str", "loc", "loclists", "ranges", "rnglists",
	"str", "str_offsets"}

func openELF(path string) (*elfFile, error) {
	file, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	f := &elfFile{File: file, debug: map[string][]byte{}}
	f.symbols, _ = file.Symbols() // an error means that there are none
	if file.Type == elf.ET_REL {
		f.assignAddresses()
	}
	for i, s := range file.Sections {
		name, ok := strings.CutPrefix(s.Name, ".debug_")
		if !ok || s.Type == elf.SHT_NOBITS || !slices.Contains(needed, name) {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		if file.Type == elf.ET_REL {
			if err := f.relocate(i, data); err != nil {
				return nil, fmt.Errorf("%s: %w", s.Name, err)
			}
		}
		f.debug[s.Name] = data
	}
	return f, nil
}

// assignAddresses gives each section of the program an address, and each symbol its own. Between
// two sections is a gap, so that the end of a section is in no other section.
func (f *elfFile) assignAddresses() {
	const gap = 0x1000
	next := uint64(gap)
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 {
			align := max(s.Addralign, 1)
			s.Addr = (next + align - 1) / align * align
			next = s.Addr + s.Size + gap
		}
	}
	for i, s := range f.symbols {
		if int(s.Section) < len(f.Sections) {
			f.symbols[i].Value += f.Sections[s.Section].Addr
		}
	}
}

// field is what a relocation changes: a number of bytes, to which the value is added or from which
// it is subtracted.
type field struct {
	size     int // 0 for a ULEB128
	add, sub bool
}

var relocations = map[elf.Machine]map[uint32]field{
	elf.EM_X86_64:  {1: {size: 8}, 10: {size: 4}, 11: {size: 4}},
	elf.EM_386:     {1: {size: 4}},
	elf.EM_ARM:     {2: {size: 4}},
	elf.EM_AARCH64: {257: {size: 8}, 258: {size: 4}},
	elf.EM_S390:    {4: {size: 4}, 22: {size: 8}},
	elf.EM_PPC64:   {1: {size: 4}, 38: {size: 8}},
	elf.EM_RISCV: {1: {size: 4}, 2: {size: 8},
		33: {1, true, false}, 34: {2, true, false}, 35: {4, true, false}, 36: {8, true, false},
		37: {1, false, true}, 38: {2, false, true}, 39: {4, false, true}, 40: {8, false, true},
		54: {size: 1}, 55: {size: 2}, 56: {size: 4}, 60: {}, 61: {sub: true}},
}

// relocate applies the relocations of section target to its content.
func (f *elfFile) relocate(target int, data []byte) error {
	for _, s := range f.Sections {
		if int(s.Info) != target || s.Type != elf.SHT_RELA && s.Type != elf.SHT_REL {
			continue
		}
		table, err := s.Data()
		if err != nil {
			return err
		}
		for r := (&numbers{f.ByteOrder, table, nil}); len(r.rest) > 0; {
			if err := f.apply(r, s.Type == elf.SHT_RELA, data); err != nil {
				return err
			}
			if r.err != nil {
				return r.err
			}
		}
	}
	return nil
}

func (f *elfFile) apply(r *numbers, addends bool, data []byte) error {
	word := 4
	if f.Class == elf.ELFCLASS64 {
		word = 8
	}
	offset, info := r.uint(word), r.uint(word)
	symbol, kind := info>>8, uint32(info&0xff)
	if word == 8 {
		symbol, kind = info>>32, uint32(info)
	}
	var value uint64
	if addends {
		value = r.uint(word)
	}
	if kind == 0 {
		return nil
	}
	how, ok := relocations[f.Machine][kind]
	if !ok {
		return fmt.Errorf("relocation %d of %v isn't known", kind, f.Machine)
	}
	if offset+uint64(how.size) > uint64(len(data)) || symbol > uint64(len(f.symbols)) {
		return fmt.Errorf("a relocation at 0x%x is outside of the section or has no symbol", offset)
	}
	if symbol > 0 {
		value += f.symbols[symbol-1].Value
	}
	at := data[offset:]
	var old uint64
	if d := (&numbers{f.ByteOrder, at, nil}); how.size == 0 {
		old = d.uleb()
		at = at[:len(at)-len(d.rest)]
	} else {
		old = d.uint(how.size)
	}
	switch {
	case how.add || !addends:
		value = old + value
	case how.sub:
		value = old - value
	}
	switch how.size {
	case 0: // keeps its length
		for i := range at {
			at[i] = at[i]&0x80 | byte(value>>(7*i))&0x7f
		}
	case 1:
		at[0] = byte(value)
	case 2:
		f.ByteOrder.PutUint16(at, uint16(value))
	case 4:
		f.ByteOrder.PutUint32(at, uint32(value))
	case 8:
		f.ByteOrder.PutUint64(at, value)
	}
	return nil
}

// dwarf passes the sections to debug/dwarf.
func (f *elfFile) dwarf() (*dwarf.Data, error) {
	at := func(name string) []byte { return f.debug[".debug_"+name] }
	names := at("str")
	if f.ByteOrder == binary.BigEndian {
		// debug/dwarf looks up the names in a unit's first DIE before it knows where the unit's part
		// of .debug_str_offsets begins, and takes the header there for offsets. These must be in
		// bounds.
		names = append(slices.Clone(names), make([]byte, 0x50000+len(at("str_offsets")))...)
	}
	d, err := dwarf.New(at("abbrev"), nil, nil, at("info"), nil, nil, at("ranges"), names)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"addr", "line_str", "str_offsets", "rnglists"} {
		if err := d.AddSection(".debug_"+name, at(name)); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// code returns the executable section that contains an address, or nil.
func (f *elfFile) code(address uint64) *elf.Section {
	for _, s := range f.Sections {
		const want = elf.SHF_ALLOC | elf.SHF_EXECINSTR
		if s.Flags&want == want && address >= s.Addr && address-s.Addr < s.Size {
			return s
		}
	}
	return nil
}

// start returns the address from which the kernel counts its addresses.
func (f *elfFile) start() (uint64, bool) {
	if f.Type == elf.ET_REL {
		return 0, false
	}
	for _, s := range f.symbols {
		if s.Name == "_stext" {
			return s.Value, true
		}
	}
	return 0, true
}

// numbers reads numbers from bytes. After the end, it sets err and returns zeros.
type numbers struct {
	order binary.ByteOrder
	rest  []byte
	err   error
}

func (d *numbers) bytes(n uint64) []byte {
	if n > uint64(len(d.rest)) {
		d.err, d.rest = fmt.Errorf("the data end too early"), nil
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

// uint reads a number of n bytes.
func (d *numbers) uint(n int) uint64 {
	var v uint64
	b := d.bytes(uint64(n))
	for i := range b {
		if d.order == binary.LittleEndian {
			v |= uint64(b[i]) << (8 * i)
		} else {
			v = v<<8 | uint64(b[i])
		}
	}
	return v
}

// sint reads a signed number of n bytes.
func (d *numbers) sint(n int) uint64 {
	shift := 64 - 8*n
	return uint64(int64(d.uint(n)<<shift) >> shift)
}

func (d *numbers) uleb() uint64 {
	v, _, _ := d.leb()
	return v
}

func (d *numbers) sleb() uint64 {
	v, shift, last := d.leb()
	if shift < 64 && last&0x40 != 0 {
		v |= ^uint64(0) << shift
	}
	return v
}

func (d *numbers) leb() (v uint64, shift int, last byte) {
	for d.err == nil {
		last = byte(d.uint(1))
		v |= uint64(last&0x7f) << shift
		if shift += 7; last < 0x80 {
			break
		}
	}
	return v, shift, last
}
