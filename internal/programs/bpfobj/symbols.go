package bpfobj

import (
	"debug/elf"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// readReferences finds what instructions refer to, from relocations and calls within a section.
func (r *reader) readReferences() error {
	if err := r.readExterns(); err != nil {
		return err
	}
	for _, s := range r.file.Sections {
		if s.Type != elf.SHT_REL || int(s.Info) >= len(r.file.Sections) {
			continue
		}
		of := r.file.Sections[s.Info]
		if of.Flags&elf.SHF_EXECINSTR == 0 {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return fmt.Errorf("section %s: %w", s.Name, err)
		}
		for ; len(data) >= 16; data = data[16:] {
			err := r.refer(elf.SectionIndex(s.Info), r.order.Uint64(data), r.order.Uint64(data[8:])>>32)
			if err != nil {
				return fmt.Errorf("section %s: %w", s.Name, err)
			}
		}
	}
	for _, f := range r.object.Functions {
		for at, insn := range f.Insns {
			if f.Calls[at] != nil || f.Uses[at] != "" || insn.Op != opCall || insn.Src != pseudoCall {
				continue
			}
			to, _ := r.functionAt(f.in, f.start+uint64(int64(at)+int64(insn.Imm)+1)*insnLen)
			if to == nil {
				return fmt.Errorf("%s: the instruction %d calls no function", f.Name, at)
			}
			f.Calls[at] = to
		}
	}
	return nil
}

// refer records what the instruction at an offset in a section refers to; symbol is the index of
// the symbol in the instruction's relocation.
func (r *reader) refer(section elf.SectionIndex, offset, symbol uint64) error {
	f, at := r.functionAt(section, offset)
	if f == nil || symbol == 0 || symbol > uint64(len(r.symbols)) {
		return nil // a relocation of data, or of code that no symbol names
	}
	s, insn := r.symbols[symbol-1], f.Insns[at]
	if s.Section == elf.SHN_UNDEF {
		x, ok := r.object.Externs[s.Name]
		if !ok {
			return nil
		}
		f.Uses[at] = s.Name
		if x.Section == ".kconfig" || x.Weak {
			f.Data[at] = Address{Map: x.Section, Symbol: s.Name}
		}
		return nil
	}
	if int(s.Section) >= len(r.file.Sections) {
		return nil
	}
	if r.file.Sections[s.Section].Flags&elf.SHF_EXECINSTR == 0 {
		f.Data[at] = r.addressOf(s, insn)
		return nil
	}
	// As in bpf_object__reloc_code, the target is a section's symbol plus the immediate, or the
	// symbol of a function.
	target := s.Value
	switch {
	case insn.Op == opCall && elf.ST_TYPE(s.Info) == elf.STT_SECTION:
		target += uint64(int64(insn.Imm)+1) * insnLen
	case insn.IsWide() && elf.ST_TYPE(s.Info) == elf.STT_SECTION:
		target += uint64(int64(insn.Imm))
	}
	to, first := r.functionAt(s.Section, target)
	if to == nil || first != 0 {
		return fmt.Errorf("the relocation at %#x refers to %#x of %s, where no function begins", offset,
			target, r.file.Sections[s.Section].Name)
	}
	f.Calls[at] = to
	return nil
}

// addressOf returns the address to which an instruction and its data symbol refer: the symbol's
// section and value, plus the immediate. For a map, only the name of the symbol matters.
func (r *reader) addressOf(s elf.Symbol, insn Insn) Address {
	section := r.file.Sections[s.Section].Name
	a := Address{Map: section, Offset: int64(s.Value) + int64(insn.Imm)}
	if section == mapsSection {
		a = Address{Map: s.Name}
	}
	return a
}

// readExterns finds the external symbols, as bpf_object__collect_externs does.
func (r *reader) readExterns() error {
	b := r.object.BTF
	for i := range b.Types {
		sec := &b.Types[i]
		if sec.Kind != btf.KindDatasec {
			continue
		}
		section := b.TypeName(sec)
		if section != ".ksyms" && section != ".kconfig" {
			continue
		}
		for _, v := range b.SecinfosOf(sec) {
			t, _ := b.ByID(v.Type)
			if t != nil && (t.Kind == btf.KindVar || t.Kind == btf.KindFunc) {
				r.object.Externs[b.TypeName(t)] = Extern{Section: section, Type: v.Type}
			}
		}
	}
	for _, s := range r.symbols {
		if x, ok := r.object.Externs[s.Name]; ok && elf.ST_BIND(s.Info) == elf.STB_WEAK {
			x.Weak = true
			r.object.Externs[s.Name] = x
		}
	}
	return nil
}
