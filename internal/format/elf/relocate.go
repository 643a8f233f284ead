package elf

import (
	stdelf "debug/elf"
	"encoding/binary"
)

const (
	shtCREL      = 0x40000014 // SHT_CREL, LLVM's compact relocations
	shfLivepatch = 0x00100000 // SHF_RELA_LIVEPATCH: for the kernel to apply, not the linker
)

// attachRelocs gives each section its relocation sections. Code gets none, as it is never read.
func (f *File) attachRelocs() error {
	if !f.Relocatable() {
		return nil
	}
	for _, r := range f.Sections {
		isRelocs := r.Type == stdelf.SHT_RELA || r.Type == stdelf.SHT_REL || r.Type == shtCREL
		if !isRelocs || r.Info == 0 || r.Flags&shfLivepatch != 0 {
			continue
		}
		if int64(r.Info) >= int64(len(f.Sections)) {
			return r.damaged("it relocates section %d, past the last", r.Info)
		}
		if s := f.Sections[r.Info]; len(s.raw) > 0 && s.Flags&stdelf.SHF_EXECINSTR == 0 {
			s.relocs = append(s.relocs, r)
		}
	}
	return nil
}

// symbolValues has the values that relocations use for symbols, by symbol index.
type symbolValues struct {
	tab    *symtab  // nil without a symbol table
	values []uint64 // addresses or absolute values; 0 for undefined and common symbols
}

// readSymbolValues resolves every symbol once, for use by all relocations.
func (f *File) readSymbolValues() (*symbolValues, error) {
	t, err := f.symtab()
	if err != nil {
		return nil, err
	}
	if t == nil || t.n == 0 {
		return &symbolValues{values: []uint64{0}}, nil
	}
	v := &symbolValues{tab: t, values: make([]uint64, t.n)}
	var s Symbol
	for i := 1; i < t.n; i++ {
		if err := t.readSymbol(i, &s); err != nil {
			return nil, err
		}
		switch s.Place {
		case InSection:
			v.values[i] = f.Sections[s.Section].Addr + s.Value
		case Absolute:
			v.values[i] = s.Value
		}
	}
	return v, nil
}

// applier applies one relocation section to one section's content.
type applier struct {
	s, r    *Section // the section, and the relocations
	data    []byte   // the content of s
	machine relocMachine
	syms    *symbolValues
	order   binary.ByteOrder
	rela    bool // whether the addends are in the relocations (SHT_RELA) rather than in data (SHT_REL)
	uleb    ulebPair
}

// relocate applies relocation section r to data, the content of s.
// Rule: relocations of debug sections. Source: elfutils.
func (s *Section) relocate(data []byte, r *Section) error {
	a, err := s.applier(r)
	if err != nil {
		return err
	}
	a.data = data
	run := a.run
	if a.hasFast() {
		run = a.runFast
	}
	if err := r.eachChunk(a.size(), run); err != nil {
		return err
	}
	return a.finish()
}

// applier returns what applies the relocations in section r to section s. The caller sets its data.
func (s *Section) applier(r *Section) (*applier, error) {
	f := s.f
	machine, ok := relocMachines[f.Machine]
	switch {
	case r.Type == shtCREL:
		return nil, r.errorf(
			"compact relocations (SHT_CREL) are not supported; compile without -Wa,--crel")
	case !ok:
		return nil, r.errorf("relocations for machine %s are not supported; pass the linked file",
			f.Machine)
	case r.compressed():
		return nil, r.damaged("compressed relocations are not supported")
	}
	syms, err := f.relSyms()
	if err != nil {
		return nil, err
	}
	if syms.tab != nil && (int(r.Link) != syms.tab.sec.Index || syms.tab.sec.f != f) {
		return nil, r.damaged(
			"its symbol table is section %d, which is not the file's symbol table (section %d)",
			r.Link, syms.tab.sec.Index)
	}
	a := &applier{s: s, r: r, machine: machine, syms: syms, order: f.Order,
		rela: r.Type == stdelf.SHT_RELA}
	if len(r.raw)%a.size() != 0 {
		return nil, r.damaged("size %d is not a multiple of a relocation's size %d", len(r.raw),
			a.size())
	}
	return a, nil
}

// size returns the size of a relocation in bytes.
func (a *applier) size() int {
	if a.rela {
		return 3 * a.s.f.AddrSize
	}
	return 2 * a.s.f.AddrSize
}

// chunkEntries is how many entries eachChunk reads at once.
const chunkEntries = 1 << 13

// eachChunk passes the section, a table with entries of size bytes, to fn in one or more pieces.
// Large files are read with pread, so that they do not add to the memory of the process.
func (s *Section) eachChunk(size int, fn func([]byte) error) error {
	if m := s.f.m; m == nil || m.fd == nil {
		return fn(s.raw)
	}
	buf := make([]byte, min(len(s.raw), chunkEntries*size))
	for off := 0; off < len(s.raw); off += len(buf) {
		buf = buf[:min(len(buf), len(s.raw)-off)]
		if _, err := s.ReadAt(buf, int64(off)); err != nil {
			return err
		}
		if err := fn(buf); err != nil {
			return err
		}
	}
	return nil
}

// run applies relocations for any machine, one by one. runFast must give the same results.
func (a *applier) run(rel []byte) error {
	for size := a.size(); len(rel) >= size; rel = rel[size:] {
		if err := a.applyFirst(rel); err != nil {
			return err
		}
	}
	return nil
}

// applyFirst applies the first relocation of rel (Elf32_Rel, Elf32_Rela, Elf64_Rel, Elf64_Rela).
func (a *applier) applyFirst(rel []byte) error {
	bo, addend := a.order, uint64(0)
	if a.s.f.AddrSize == 4 {
		if a.rela {
			addend = uint64(int64(int32(bo.Uint32(rel[8:]))))
		}
		info := bo.Uint32(rel[4:])
		return a.apply(uint64(bo.Uint32(rel)), info&0xff, info>>8, addend)
	}
	if a.rela {
		addend = bo.Uint64(rel[16:])
	}
	info := bo.Uint64(rel[8:])
	typ, sym := uint32(info), uint32(info>>32)
	if a.s.f.Machine == stdelf.EM_MIPS {
		// r_info consists of a symbol in the file's byte order, a special symbol, and three types, which
		// are applied one after the other. In data sections, only one type is set; several types would
		// make a number that is no known type.
		typ, sym = binary.BigEndian.Uint32(rel[12:]), bo.Uint32(rel[8:])
	}
	return a.apply(bo.Uint64(rel), typ, sym, addend)
}
