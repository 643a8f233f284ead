package object

import (
	"debug/elf"
	"encoding/binary"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Target is the machine that BTF is for. Objects of different targets can't be merged.
type Target struct {
	AddrSize int              // bytes of an address, 4 or 8; 0 if it is unknown
	Order    binary.ByteOrder // nil if it is unknown
	Machine  uint16           // ELF e_machine; 0 if it is unknown
}

// String describes the target, for example as "EM_X86_64, 64-bit, LittleEndian".
func (t Target) String() string {
	return fmt.Sprintf("%v, %d-bit, %v", elf.Machine(t.Machine), 8*t.AddrSize, t.Order)
}

// Differs compares the target t of a base with the target of BTF on that base. If they differ,
// Differs says how, for example with "for EM_X86_64" and "for EM_AARCH64"; otherwise it returns "".
// What is unknown of either target isn't compared. The base of a BPF program's BTF may be for any
// machine with the same byte order.
// Rule: target: facts, units and bases must agree.
func (t Target) Differs(of Target) (base, other string) {
	switch {
	case t.Order != nil && of.Order != nil && t.Order != of.Order:
		return fmt.Sprint(t.Order), fmt.Sprint(of.Order)
	case elf.Machine(of.Machine) == elf.EM_BPF:
	case t.Machine != 0 && of.Machine != 0 && t.Machine != of.Machine:
		return fmt.Sprint("for ", elf.Machine(t.Machine)), fmt.Sprint("for ", elf.Machine(of.Machine))
	case t.AddrSize != 0 && of.AddrSize != 0 && t.AddrSize != of.AddrSize:
		return fmt.Sprintf("%d-bit", 8*t.AddrSize), fmt.Sprintf("%d-bit", 8*of.AddrSize)
	}
	return "", ""
}

// TargetOf returns the target of BTF: that of the ELF file that holds it or a base, or else what
// its types show.
func TargetOf(b *btf.Blob) Target {
	for x := b; x != nil; x = x.Base {
		if x.Origin.Machine != 0 {
			return Target{x.Origin.AddrSize, byteOrder(b), x.Origin.Machine}
		}
	}
	return TargetOfTypes(b)
}

// TargetOfTypes returns what the types of BTF and its bases show of its target.
// Rule: target of raw BTF. Source: libbpf determine_ptr_size, for the size of a pointer.
func TargetOfTypes(b *btf.Blob) Target {
	t := Target{AddrSize: int(b.LongSize()), Order: byteOrder(b)}
	t.Machine = uint16(machineOf(b, t.AddrSize))
	return t
}

// registers maps a member of struct pt_regs to the machines whose kernels have such a member: the
// 32-bit machine and the 64-bit machine. In arch/*/include/asm/ptrace.h, each is in one directory
// only. A kernel without any of them may be for another machine, or for UML.
var registers = map[string][2]elf.Machine{
	"orig_ax":   {elf.EM_386, elf.EM_X86_64},
	"uregs":     {elf.EM_ARM, 0},
	"orig_x0":   {0, elf.EM_AARCH64},
	"badaddr":   {elf.EM_RISCV, elf.EM_RISCV},
	"csr_era":   {elf.EM_LOONGARCH, elf.EM_LOONGARCH},
	"orig_gpr2": {elf.EM_S390, elf.EM_S390},
	"orig_gpr3": {elf.EM_PPC, elf.EM_PPC64},
	"cp0_epc":   {elf.EM_MIPS, elf.EM_MIPS},
	"tstate":    {0, elf.EM_SPARCV9},
}

// maxMembers limits how many members of structs pt_regs are read. A real one has fewer than 100.
const maxMembers = 1000

// machineOf returns the machine that a kernel's struct pt_regs shows, or 0.
func machineOf(b *btf.Blob, addrSize int) elf.Machine {
	left := maxMembers
	for id, t := range b.All() {
		if t.Kind != btf.KindStruct || b.TypeName(t) != "pt_regs" {
			continue
		}
		if found, ok := findRegister(b, id, &left); ok && addrSize != 0 {
			return found[addrSize/8]
		}
	}
	return 0
}

// findRegister finds a member in registers: in the struct or union with this id, or in an anonymous
// one inside it. It reads at most left members.
func findRegister(b *btf.Blob, id uint32, left *int) (machines [2]elf.Machine, ok bool) {
	t, in := b.ByID(id)
	if t == nil || !t.Kind.IsComposite() {
		return machines, false
	}
	for _, m := range in.MembersOf(t) {
		if *left--; *left < 0 {
			break
		}
		if m.NameOff == 0 {
			machines, ok = findRegister(b, m.Type, left)
		} else if name, err := b.Name(m.NameOff); err == nil {
			machines, ok = registers[name]
		}
		if ok {
			return machines, true
		}
	}
	return machines, false
}
