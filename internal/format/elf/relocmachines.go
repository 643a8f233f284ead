package elf

import (
	stdelf "debug/elf"
	"fmt"
)

type relocMachine struct {
	name func(typ uint32) string // name in the processor supplement, if debug/elf has it
	ops  []relocOp               // effects by type, without types that occur only in code
}

func relocName[T interface {
	~int
	fmt.Stringer
}](typ uint32) string {
	return T(typ).String()
}

// relocMachines has the relocation types of each machine, with the processor supplement's numbers.
var relocMachines = map[stdelf.Machine]relocMachine{
	stdelf.EM_X86_64: {relocName[stdelf.R_X86_64], []relocOp{
		stdelf.R_X86_64_NONE:     opNone,
		stdelf.R_X86_64_64:       opAbs64,
		stdelf.R_X86_64_PC32:     opRel32,
		stdelf.R_X86_64_PLT32:    opRel32,
		stdelf.R_X86_64_32:       opAbs32U,
		stdelf.R_X86_64_32S:      opAbs32S,
		stdelf.R_X86_64_16:       opAbs16,
		stdelf.R_X86_64_PC16:     opRel16,
		stdelf.R_X86_64_8:        opAbs8,
		stdelf.R_X86_64_PC8:      opRel8,
		stdelf.R_X86_64_DTPOFF64: opTLS64,
		stdelf.R_X86_64_DTPOFF32: opTLS32,
		stdelf.R_X86_64_PC64:     opRel64,
		stdelf.R_X86_64_SIZE32:   opSize32,
		stdelf.R_X86_64_SIZE64:   opSize64,
	}},
	stdelf.EM_AARCH64: {relocName[stdelf.R_AARCH64], []relocOp{
		stdelf.R_AARCH64_NONE:         opNone,
		stdelf.R_AARCH64_P32_ABS32:    opAbs32,
		stdelf.R_AARCH64_P32_ABS16:    opAbs16,
		stdelf.R_AARCH64_P32_PREL32:   opRel32,
		stdelf.R_AARCH64_P32_PREL16:   opRel16,
		stdelf.R_AARCH64_NULL:         opNone,
		stdelf.R_AARCH64_ABS64:        opAbs64,
		stdelf.R_AARCH64_ABS32:        opAbs32,
		stdelf.R_AARCH64_ABS16:        opAbs16,
		stdelf.R_AARCH64_PREL64:       opRel64,
		stdelf.R_AARCH64_PREL32:       opRel32,
		stdelf.R_AARCH64_PREL16:       opRel16,
		314:                           opRel32, // R_AARCH64_PLT32
		stdelf.R_AARCH64_TLS_DTPREL64: opTLS64,
	}},
	stdelf.EM_386: {relocName[stdelf.R_386], []relocOp{
		stdelf.R_386_NONE:       opNone,
		stdelf.R_386_32:         opAbs32,
		stdelf.R_386_PC32:       opRel32,
		stdelf.R_386_PLT32:      opRel32,
		stdelf.R_386_16:         opAbs16,
		stdelf.R_386_PC16:       opRel16,
		stdelf.R_386_8:          opAbs8,
		stdelf.R_386_PC8:        opRel8,
		stdelf.R_386_TLS_LDO_32: opTLS32,
		stdelf.R_386_SIZE32:     opSize32,
	}},
	stdelf.EM_ARM: {relocName[stdelf.R_ARM], []relocOp{
		stdelf.R_ARM_NONE:      opNone,
		stdelf.R_ARM_ABS32:     opAbs32,
		stdelf.R_ARM_REL32:     opRel32,
		stdelf.R_ARM_ABS16:     opAbs16,
		stdelf.R_ARM_ABS8:      opAbs8,
		stdelf.R_ARM_TARGET1:   opAbs32,
		stdelf.R_ARM_PREL31:    opRel31,
		stdelf.R_ARM_TLS_LDO32: opTLS32,
	}},
	stdelf.EM_S390: {relocName[stdelf.R_390], []relocOp{
		stdelf.R_390_NONE:      opNone,
		stdelf.R_390_8:         opAbs8,
		stdelf.R_390_16:        opAbs16,
		stdelf.R_390_32:        opAbs32,
		stdelf.R_390_64:        opAbs64,
		stdelf.R_390_PC16:      opRel16,
		stdelf.R_390_PC32:      opRel32,
		stdelf.R_390_PC64:      opRel64,
		stdelf.R_390_PLT32:     opRel32,
		stdelf.R_390_PLT64:     opRel64,
		stdelf.R_390_TLS_LDO32: opTLS32,
		stdelf.R_390_TLS_LDO64: opTLS64,
	}},
	stdelf.EM_PPC64: {relocName[stdelf.R_PPC64], []relocOp{
		stdelf.R_PPC64_NONE:     opNone,
		stdelf.R_PPC64_ADDR32:   opAbs32,
		stdelf.R_PPC64_ADDR16:   opAbs16,
		stdelf.R_PPC64_ADDR64:   opAbs64,
		24:                      opAbs32, // UADDR32
		25:                      opAbs16, // UADDR16
		43:                      opAbs64, // UADDR64
		stdelf.R_PPC64_REL32:    opRel32,
		stdelf.R_PPC64_REL64:    opRel64,
		stdelf.R_PPC64_DTPREL64: opTLS64Bias,
		stdelf.R_PPC64_TOC:      opNone, // the second word of function descriptors
	}},
	stdelf.EM_PPC: {relocName[stdelf.R_PPC], []relocOp{
		0:  opNone,
		1:  opAbs32,     // ADDR32
		3:  opAbs16,     // ADDR16
		24: opAbs32,     // UADDR32
		25: opAbs16,     // UADDR16
		26: opRel32,     // REL32
		78: opTLS32Bias, // DTPREL32
	}},
	stdelf.EM_RISCV: {relocName[stdelf.R_RISCV], []relocOp{
		stdelf.R_RISCV_NONE:         opNone,
		stdelf.R_RISCV_32:           opAbs32,
		stdelf.R_RISCV_64:           opAbs64,
		stdelf.R_RISCV_RELAX:        opNone,
		stdelf.R_RISCV_TLS_DTPREL32: opTLS32,
		stdelf.R_RISCV_TLS_DTPREL64: opTLS64,
		stdelf.R_RISCV_32_PCREL:     opRel32,
		59:                          opRel32, // R_RISCV_PLT32
		stdelf.R_RISCV_SET6:         opSet | 6,
		stdelf.R_RISCV_SET8:         opSet | 8,
		stdelf.R_RISCV_SET16:        opSet | 16,
		stdelf.R_RISCV_SET32:        opSet | 32,
		stdelf.R_RISCV_ADD8:         opAdd | 8,
		stdelf.R_RISCV_ADD16:        opAdd | 16,
		stdelf.R_RISCV_ADD32:        opAdd | 32,
		stdelf.R_RISCV_ADD64:        opAdd | 64,
		stdelf.R_RISCV_SUB6:         opSub | 6,
		stdelf.R_RISCV_SUB8:         opSub | 8,
		stdelf.R_RISCV_SUB16:        opSub | 16,
		stdelf.R_RISCV_SUB32:        opSub | 32,
		stdelf.R_RISCV_SUB64:        opSub | 64,
		60:                          opSetULEB, // SET_ULEB128
		61:                          opSubULEB, // SUB_ULEB128
	}},
	stdelf.EM_LOONGARCH: {relocName[stdelf.R_LARCH], []relocOp{
		stdelf.R_LARCH_NONE:         opNone,
		stdelf.R_LARCH_32:           opAbs32,
		stdelf.R_LARCH_64:           opAbs64,
		stdelf.R_LARCH_MARK_LA:      opNone,
		stdelf.R_LARCH_MARK_PCREL:   opNone,
		stdelf.R_LARCH_RELAX:        opNone,
		stdelf.R_LARCH_TLS_DTPREL32: opTLS32,
		stdelf.R_LARCH_TLS_DTPREL64: opTLS64,
		stdelf.R_LARCH_32_PCREL:     opRel32,
		stdelf.R_LARCH_64_PCREL:     opRel64,
		stdelf.R_LARCH_ADD6:         opAdd | 6,
		stdelf.R_LARCH_ADD8:         opAdd | 8,
		stdelf.R_LARCH_ADD16:        opAdd | 16,
		stdelf.R_LARCH_ADD24:        opAdd | 24,
		stdelf.R_LARCH_ADD32:        opAdd | 32,
		stdelf.R_LARCH_ADD64:        opAdd | 64,
		stdelf.R_LARCH_SUB6:         opSub | 6,
		stdelf.R_LARCH_SUB8:         opSub | 8,
		stdelf.R_LARCH_SUB16:        opSub | 16,
		stdelf.R_LARCH_SUB24:        opSub | 24,
		stdelf.R_LARCH_SUB32:        opSub | 32,
		stdelf.R_LARCH_SUB64:        opSub | 64,
		stdelf.R_LARCH_ADD_ULEB128:  opAddULEB,
		stdelf.R_LARCH_SUB_ULEB128:  opSubULEB,
	}},
	stdelf.EM_MIPS: {relocName[stdelf.R_MIPS], []relocOp{
		stdelf.R_MIPS_NONE:         opNone,
		stdelf.R_MIPS_16:           opAbs16,
		stdelf.R_MIPS_32:           opAbs32,
		stdelf.R_MIPS_64:           opAbs64,
		stdelf.R_MIPS_TLS_DTPREL32: opTLS32Bias,
		stdelf.R_MIPS_TLS_DTPREL64: opTLS64Bias,
		stdelf.R_MIPS_PC32:         opRel32,
	}},
}
