package params

import (
	"debug/elf"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
)

// Machine determines the ABI's calling convention.
type Machine struct {
	ID elf.Machine // e_machine
	dwarf.Operands
}

// The DWARF numbers of the registers for integer and pointer parameters, in order.
var (
	registersX86_64 = []uint8{5, 4, 1, 2, 8, 9} // rdi rsi rdx rcx r8 r9: System V ABI, x86-64
	registersARM64  = []uint8{0, 1, 2, 3, 4, 5, 6, 7}
	registersARM    = []uint8{0, 1, 2, 3} // AAPCS32 (dwarves counts to r7 here, the ABI to r3)
	registersS390   = []uint8{2, 3, 4, 5, 6}
)

// registers returns the parameter registers, or nil if they are unknown.
// Rule: registers of parameters, by machine.
func (m Machine) registers() []uint8 {
	switch m.ID {
	case elf.EM_X86_64:
		return registersX86_64
	case elf.EM_AARCH64:
		return registersARM64
	case elf.EM_ARM:
		return registersARM
	case elf.EM_S390:
		return registersS390
	}
	return nil
}

// registerCount returns how many parameter words are passed in registers, even for some machines
// for which registers returns nil. If it is 0, all parameters count as passed on the stack.
func (m Machine) registerCount() int {
	switch m.ID {
	case elf.EM_S390:
		return len(registersS390)
	case elf.EM_ARM:
		return len(registersARM)
	case elf.EM_X86_64, elf.EM_SPARC, elf.EM_SPARCV9:
		return 6
	case elf.EM_AARCH64, elf.EM_ARC, elf.EM_MIPS, elf.EM_PPC, elf.EM_PPC64, elf.EM_RISCV:
		return 8
	}
	return 0
}

// splitsAggregates reports whether a value of two words is passed in two registers. On s390 such a
// value is passed by reference.
func (m Machine) splitsAggregates() bool { return m.ID != elf.EM_S390 }

// inMemory reports whether a value of size bytes is too large to be passed in registers.
func (m Machine) inMemory(size uint32) bool {
	limit := uint32(m.AddrSize)
	if m.splitsAggregates() {
		limit *= 2
	}
	return size > limit
}

// slots returns how many registers a parameter takes up.
func (m Machine) slots(p *Param) int {
	switch {
	case m.inMemory(p.Size):
		if m.ID == elf.EM_X86_64 {
			return 0 // on the stack
		}
		return 1 // a pointer to the value
	case p.Size > uint32(m.AddrSize):
		return 2
	}
	return 1
}

// align rounds a register index up to an even index if the parameter is an integer of two words and
// the ABI requires an even register for such a parameter: AAPCS32 rule C.3, AAPCS64 rule C.10.
func (m Machine) align(index int, p *Param) int {
	if (m.ID == elf.EM_ARM || m.ID == elf.EM_AARCH64) && !p.Struct &&
		int64(p.Size) == 2*int64(m.AddrSize) {
		return index + index%2
	}
	return index
}
