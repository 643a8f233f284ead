package elf

import (
	stdelf "debug/elf"
	"encoding/binary"
)

const (
	shtCREL      = 0x40000014 // SHT_CREL, LLVM's compact relocations
	shfLivepatch = 0x00100000 // SHF_RELA_LIVEPATCH: for the kernel to apply, not the linker
)

// attachRelocs gives each section of a relocatable file its relocation
// sections. Code keeps its bytes: nobody behind this package reads it.
func (f *File) attachRelocs() error {
	if !f.Relocatable() {
		return nil
	}
	for _, r := range f.Sections {
		if r.Type != stdelf.SHT_RELA && r.Type != stdelf.SHT_REL && r.Type != shtCREL {
			continue
		}
		if r.Info == 0 || r.Flags&shfLivepatch != 0 {
			continue
		}
		if int64(r.Info) >= int64(len(f.Sections)) {
			return r.errorf("relocates section %d of %d", r.Info, len(f.Sections))
		}
		if s := f.Sections[r.Info]; len(s.raw) > 0 && s.Flags&stdelf.SHF_EXECINSTR == 0 {
			s.relocs = append(s.relocs, r)
		}
	}
	return nil
}

// symbolValues is what relocations need of the symbol table, by index.
type symbolValues struct {
	tab    *symtab  // nil without a symbol table
	values []uint64 // laid-out; 0 for undefined and common symbols
}

// readSymbolValues resolves every symbol once for all relocations.
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
		if err := t.at(i, &s); err != nil {
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

// relocate applies relocation section r to data, the content of s.
func (s *Section) relocate(data []byte, r *Section) error {
	a, err := s.applier(r)
	if err != nil {
		return err
	}
	a.data = data
	f, size := s.f, a.size()
	err = r.eachChunk(size, func(rel []byte) error {
		switch {
		case f.AddrSize == 4:
			return a.run32(rel, size)
		case f.Machine == stdelf.EM_MIPS:
			return a.runMIPS64(rel, size)
		case a.rela && f.Order == binary.LittleEndian:
			return a.runRela64LE(rel)
		}
		return a.run64(rel, size)
	})
	if err != nil {
		return err
	}
	return a.finish()
}

// applier prepares to apply relocation section r to s.
func (s *Section) applier(r *Section) (*applier, error) {
	f := s.f
	ops := relocOps[f.Machine]
	switch {
	case r.Type == shtCREL:
		return nil, r.errorf("compact relocations (SHT_CREL) are not supported; compile without -Wa,--crel")
	case ops == nil:
		return nil, r.errorf("relocations of machine %s are not supported; pass the linked file",
			f.Machine)
	case r.compressed():
		return nil, r.errorf("compressed relocations are not supported")
	}
	syms, err := f.relSyms()
	if err != nil {
		return nil, err
	}
	if syms.tab != nil && int(r.Link) != syms.tab.sec.Index {
		return nil, r.errorf("its symbol table is section %d, which is not the file's symbol table (section %d)", r.Link, syms.tab.sec.Index)
	}
	a := &applier{s: s, r: r, ops: ops, syms: syms, order: f.Order, rela: r.Type == stdelf.SHT_RELA}
	if len(r.raw)%a.size() != 0 {
		return nil, r.errorf("%d bytes are no multiple of a relocation's %d", len(r.raw), a.size())
	}
	return a, nil
}

// size is that of a relocation in bytes.
func (a *applier) size() int {
	if a.rela {
		return 3 * a.s.f.AddrSize
	}
	return 2 * a.s.f.AddrSize
}

// chunkEntries is how many entries eachChunk reads at once.
const chunkEntries = 1 << 13

// eachChunk passes a table of entries of size bytes to fn in one or more
// pieces. Large files are read, not mapped, so that their tables do not count
// as the process's memory.
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

// rela64Size is the size of a RELA relocation of 64-bit machines in bytes.
const rela64Size = 24

// runRela64LE is the fast path: RELA of 64-bit little-endian machines.
func (a *applier) runRela64LE(rel []byte) error {
	le := binary.LittleEndian
	for {
		if rel = rel[a.addresses(rel, 0):]; len(rel) < rela64Size {
			return nil
		}
		info := le.Uint64(rel[8:])
		if err := a.apply(le.Uint64(rel), uint32(info), uint32(info>>32),
			le.Uint64(rel[16:])); err != nil {
			return err
		}
		rel = rel[rela64Size:]
	}
}

// addresses applies relocations, as long as they are plain addresses in a.data, which begins at
// offset from of the section. It returns the size of those that it has applied.
func (a *applier) addresses(rel []byte, from uint64) int {
	le := binary.LittleEndian
	data, ops, values := a.data, a.ops, a.syms.values
	size := len(rel)
	for ; len(rel) >= rela64Size; rel = rel[rela64Size:] {
		off, info, addend := le.Uint64(rel)-from, le.Uint64(rel[8:]), le.Uint64(rel[16:])
		sym, typ := uint32(info>>32), uint32(info)
		if uint64(sym) >= uint64(len(values)) || uint64(typ) >= uint64(len(ops)) ||
			off >= uint64(len(data)) {
			break
		}
		v := values[sym] + addend
		field := data[off:]
		switch ops[typ] {
		case opAbs64:
			if len(field) >= 8 {
				le.PutUint64(field, v)
				continue
			}
		case opAbs32U, opAbs32:
			if len(field) >= 4 && v>>32 == 0 {
				le.PutUint32(field, uint32(v))
				continue
			}
		}
		break
	}
	return size - len(rel)
}

// run64 handles REL and big-endian RELA of 64-bit machines.
func (a *applier) run64(rel []byte, size int) error {
	bo := a.order
	for ; len(rel) >= size; rel = rel[size:] {
		info := bo.Uint64(rel[8:])
		addend := uint64(0)
		if a.rela {
			addend = bo.Uint64(rel[16:])
		}
		if err := a.apply(bo.Uint64(rel), uint32(info), uint32(info>>32), addend); err != nil {
			return err
		}
	}
	return nil
}

// run32 handles all 32-bit machines.
func (a *applier) run32(rel []byte, size int) error {
	bo := a.order
	for ; len(rel) >= size; rel = rel[size:] {
		info := bo.Uint32(rel[4:])
		addend := uint64(0)
		if a.rela {
			addend = uint64(int64(int32(bo.Uint32(rel[8:]))))
		}
		if err := a.apply(uint64(bo.Uint32(rel)), info&0xff, info>>8, addend); err != nil {
			return err
		}
	}
	return nil
}

// runMIPS64 handles 64-bit MIPS, whose r_info is a symbol in the file's byte
// order, a special symbol and three types that apply one after the other. Only
// one of the types is ever set in data; others give an unknown type.
func (a *applier) runMIPS64(rel []byte, size int) error {
	bo := a.order
	for ; len(rel) >= size; rel = rel[size:] {
		typ := uint32(rel[15]) | uint32(rel[14])<<8 | uint32(rel[13])<<16 | uint32(rel[12])<<24
		addend := uint64(0)
		if a.rela {
			addend = bo.Uint64(rel[16:])
		}
		if err := a.apply(bo.Uint64(rel), typ, bo.Uint32(rel[8:]), addend); err != nil {
			return err
		}
	}
	return nil
}
