package dump

import (
	stdelf "debug/elf"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// NamesOf returns the Names for the sites in the code of an ELF file. If f is nil, nothing has a
// name.
func NamesOf(f *elf.File) (Names, error) {
	n := Names{Caller: func(string, uint32) string { return "" }}
	if f == nil {
		return n, nil
	}
	code, err := codeOf(f)
	if err != nil {
		return n, err
	}
	symbols := code.functions.Symbols
	n.Caller = func(section string, offset uint32) string {
		sec := f.Section(section)
		if sec == nil || uint64(offset) >= sec.Size {
			return ""
		}
		addr := sec.Addr + uint64(offset)
		in := code.function(addr)
		if in == nil || in.Addr < sec.Addr {
			return ""
		}
		return fmt.Sprintf("%s+%#x", symbols.Name(&symbols.List[in.Symbol]), addr-in.Addr)
	}
	n.Register = registersOf(f.Machine)
	n.Object = objectsOf(f, symbols)
	return n, nil
}

// objectsOf finds variables and functions by their distance from _stext. If several symbols are at
// an address, it takes the first one in the symbol table.
func objectsOf(f *elf.File, symbols *elf.Symbols) func(uint64) string {
	if f.Relocatable() {
		return nil
	}
	start := uint64(0)
	at := map[uint64]int{}
	for i := range symbols.List {
		s := &symbols.List[i]
		if symbols.Named(s, []byte("_stext")) {
			start = s.Value
		}
		switch stdelf.SymType(s.Type) {
		case stdelf.STT_FUNC, stdelf.STT_OBJECT:
			if _, ok := at[s.Value]; !ok && s.Place == elf.InSection {
				at[s.Value] = i
			}
		}
	}
	return func(offset uint64) string {
		addr := start + offset
		if f.AddrSize == 4 {
			addr = uint64(uint32(addr))
		}
		if i, ok := at[addr]; ok {
			return symbols.Name(&symbols.List[i])
		}
		return ""
	}
}

// registersOf returns the function that names the registers of a machine by their DWARF numbers, or
// nil if the names aren't known.
func registersOf(m stdelf.Machine) func(number, size uint32) string {
	switch m {
	case stdelf.EM_X86_64:
		return registerX86
	case stdelf.EM_AARCH64:
		return registerARM64
	case stdelf.EM_RISCV:
		return func(n, _ uint32) string { return nth(registersRISCV[:], n) }
	case stdelf.EM_S390:
		return func(n, _ uint32) string {
			if n > 15 {
				return ""
			}
			return fmt.Sprintf("%%r%d", n)
		}
	}
	return nil
}

// registersX86 has the names of the registers by DWARF number (System V ABI, figure 3.36), without
// the letter for the width, as in %rax and %eax.
var registersX86 = [...]string{"ax", "dx", "cx", "bx", "si", "di", "bp", "sp"}

func registerX86(n, size uint32) string {
	switch {
	case n < uint32(len(registersX86)):
		name := registersX86[n]
		switch {
		case size == 4:
			return "%e" + name
		case size == 2:
			return "%" + name
		case size == 1 && n < 4:
			return "%" + name[:1] + "l"
		case size == 1:
			return "%" + name + "l"
		}
		return "%r" + name
	case n < 16:
		return fmt.Sprintf("%%r%d%s", n, map[uint32]string{1: "b", 2: "w", 4: "d"}[size])
	case n >= 17 && n < 33:
		return fmt.Sprintf("%%xmm%d", n-17)
	}
	return ""
}

func registerARM64(n, size uint32) string {
	switch {
	case n == 31:
		return "sp"
	case n < 31 && size > 0 && size <= 4:
		return fmt.Sprintf("w%d", n)
	case n < 31:
		return fmt.Sprintf("x%d", n)
	case n >= 64 && n < 96:
		return fmt.Sprintf("v%d", n-64)
	}
	return ""
}

var registersRISCV = [...]string{"zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0",
	"a1", "a2", "a3", "a4", "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10",
	"s11", "t3", "t4", "t5", "t6"}

func nth(list []string, n uint32) string {
	if n < uint32(len(list)) {
		return list[n]
	}
	return ""
}
