package elf

import (
	stdelf "debug/elf"
)

// relocOp is what a relocation type does, whatever the machine calls it.
type relocOp uint8

const (
	opUnknown relocOp = iota
	opNone            // nothing, or a hint for linker relaxation
	opAbs64
	opAbs32  // fits as signed or as unsigned number
	opAbs32U // zero-extends
	opAbs32S // sign-extends
	opAbs16
	opAbs8
	opRel64
	opRel32
	opRel31
	opRel16
	opRel8
	opTLS64 // offset in the thread-local block
	opTLS32
	opTLS64Bias // the same, less 0x8000
	opTLS32Bias
	opSize64
	opSize32
	opSet6
	opSet8
	opSet16
	opSet32
	opAdd6
	opAdd8
	opAdd16
	opAdd24
	opAdd32
	opAdd64
	opSub6
	opSub8
	opSub16
	opSub24
	opSub32
	opSub64
	opSetULEB
	opAddULEB
	opSubULEB
)

// calc is the formula of a relocation: S symbol, A addend, P place, V the
// field's old value.
type calc uint8

const (
	calcAbs     calc = iota // S+A
	calcRel                 // S+A-P
	calcTLS                 // S-block+A
	calcTLSBias             // S-block+A-0x8000
	calcSize                // size of S+A
	calcSet                 // S+A, cut to the field
	calcAdd                 // V+S+A, cut to the field
	calcSub                 // V-S-A, cut to the field
	calcULEB                // one half of a difference in a ULEB128
)

// check is which values a field takes.
type check uint8

const (
	cut      check = iota // all; higher bits are dropped
	either                // those that fit as signed or unsigned numbers
	signed                // those that fit as signed numbers
	unsigned              // those that fit as unsigned numbers
)

func (c check) fits(v uint64, bits uint8) bool {
	if bits == 64 {
		return true
	}
	s := signExtend(v, bits) == v
	u := v>>bits == 0
	switch c {
	case either:
		return s || u
	case signed:
		return s
	case unsigned:
		return u
	}
	return true
}

// howto says how to do a relocOp: size in bytes of the field, and how many
// bits of it change.
type howto struct {
	calc  calc
	size  uint8
	bits  uint8
	check check
}

var howtos = [...]howto{
	opAbs64: {calcAbs, 8, 64, cut}, opAbs32: {calcAbs, 4, 32, either}, opAbs32U: {calcAbs, 4, 32,
		unsigned},
	opAbs32S: {calcAbs, 4, 32, signed}, opAbs16: {calcAbs, 2, 16, either}, opAbs8: {calcAbs, 1, 8,
		either},
	opRel64: {calcRel, 8, 64, cut}, opRel32: {calcRel, 4, 32, signed}, opRel31: {calcRel, 4, 31,
		signed},
	opRel16: {calcRel, 2, 16, signed}, opRel8: {calcRel, 1, 8, signed},
	opTLS64: {calcTLS, 8, 64, cut}, opTLS32: {calcTLS, 4, 32, either},
	opTLS64Bias: {calcTLSBias, 8, 64, cut}, opTLS32Bias: {calcTLSBias, 4, 32, either},
	opSize64: {calcSize, 8, 64, cut}, opSize32: {calcSize, 4, 32, either},
	opSet6: {calcSet, 1, 6, cut}, opSet8: {calcSet, 1, 8, cut}, opSet16: {calcSet, 2, 16,
		cut}, opSet32: {calcSet, 4, 32, cut},
	opAdd6: {calcAdd, 1, 6, cut}, opAdd8: {calcAdd, 1, 8, cut}, opAdd16: {calcAdd, 2, 16, cut},
	opAdd24: {calcAdd, 3, 24, cut}, opAdd32: {calcAdd, 4, 32, cut}, opAdd64: {calcAdd, 8, 64, cut},
	opSub6: {calcSub, 1, 6, cut}, opSub8: {calcSub, 1, 8, cut}, opSub16: {calcSub, 2, 16, cut},
	opSub24: {calcSub, 3, 24, cut}, opSub32: {calcSub, 4, 32, cut}, opSub64: {calcSub, 8, 64, cut},
	opSetULEB: {calcULEB, 1, 7, cut}, opAddULEB: {calcULEB, 1, 7, cut}, opSubULEB: {calcULEB, 1, 7,
		cut},
}

// relocOps holds, for each machine, the relocation types that occur in data.
// Types that only code has are left out. Numbers are those of the processor
// supplements; the indexes of a list are the types.
var relocOps = map[stdelf.Machine][]relocOp{
	stdelf.EM_X86_64: {
		stdelf.R_X86_64_NONE: opNone, stdelf.R_X86_64_64: opAbs64, stdelf.R_X86_64_PC32: opRel32, stdelf.R_X86_64_PLT32: opRel32,
		stdelf.R_X86_64_32: opAbs32U, stdelf.R_X86_64_32S: opAbs32S, stdelf.R_X86_64_16: opAbs16, stdelf.R_X86_64_PC16: opRel16,
		stdelf.R_X86_64_8: opAbs8, stdelf.R_X86_64_PC8: opRel8, stdelf.R_X86_64_DTPOFF64: opTLS64, stdelf.R_X86_64_DTPOFF32: opTLS32,
		stdelf.R_X86_64_PC64: opRel64, stdelf.R_X86_64_SIZE32: opSize32, stdelf.R_X86_64_SIZE64: opSize64,
	},
	stdelf.EM_AARCH64: {
		stdelf.R_AARCH64_NONE: opNone, stdelf.R_AARCH64_P32_ABS32: opAbs32, stdelf.R_AARCH64_P32_ABS16: opAbs16,
		stdelf.R_AARCH64_P32_PREL32: opRel32, stdelf.R_AARCH64_P32_PREL16: opRel16, stdelf.R_AARCH64_NULL: opNone,
		stdelf.R_AARCH64_ABS64: opAbs64, stdelf.R_AARCH64_ABS32: opAbs32, stdelf.R_AARCH64_ABS16: opAbs16,
		stdelf.R_AARCH64_PREL64: opRel64, stdelf.R_AARCH64_PREL32: opRel32, stdelf.R_AARCH64_PREL16: opRel16,
		314: opRel32 /* R_AARCH64_PLT32 */, stdelf.R_AARCH64_TLS_DTPREL64: opTLS64,
	},
	stdelf.EM_386: {
		stdelf.R_386_NONE: opNone, stdelf.R_386_32: opAbs32, stdelf.R_386_PC32: opRel32, stdelf.R_386_PLT32: opRel32,
		stdelf.R_386_16: opAbs16, stdelf.R_386_PC16: opRel16, stdelf.R_386_8: opAbs8, stdelf.R_386_PC8: opRel8,
		stdelf.R_386_TLS_LDO_32: opTLS32, stdelf.R_386_SIZE32: opSize32,
	},
	stdelf.EM_ARM: {
		stdelf.R_ARM_NONE: opNone, stdelf.R_ARM_ABS32: opAbs32, stdelf.R_ARM_REL32: opRel32, stdelf.R_ARM_ABS16: opAbs16,
		stdelf.R_ARM_ABS8: opAbs8, stdelf.R_ARM_TARGET1: opAbs32, stdelf.R_ARM_PREL31: opRel31, stdelf.R_ARM_TLS_LDO32: opTLS32,
	},
	stdelf.EM_S390: {
		stdelf.R_390_NONE: opNone, stdelf.R_390_8: opAbs8, stdelf.R_390_16: opAbs16, stdelf.R_390_32: opAbs32, stdelf.R_390_64: opAbs64,
		stdelf.R_390_PC16: opRel16, stdelf.R_390_PC32: opRel32, stdelf.R_390_PC64: opRel64, stdelf.R_390_PLT32: opRel32,
		stdelf.R_390_PLT64: opRel64, stdelf.R_390_TLS_LDO32: opTLS32, stdelf.R_390_TLS_LDO64: opTLS64,
	},
	stdelf.EM_PPC64: {
		stdelf.R_PPC64_NONE: opNone, stdelf.R_PPC64_ADDR32: opAbs32, stdelf.R_PPC64_ADDR16: opAbs16, stdelf.R_PPC64_ADDR64: opAbs64,
		24: opAbs32 /* UADDR32 */, 25: opAbs16 /* UADDR16 */, 43: opAbs64, /* UADDR64 */
		stdelf.R_PPC64_REL32: opRel32, stdelf.R_PPC64_REL64: opRel64, stdelf.R_PPC64_DTPREL64: opTLS64Bias,
		stdelf.R_PPC64_TOC: opNone, // the second word of function descriptors
	},
	stdelf.EM_PPC: {
		0: opNone, 1: opAbs32 /* ADDR32 */, 3: opAbs16 /* ADDR16 */, 24: opAbs32 /* UADDR32 */, 25: opAbs16, /* UADDR16 */
		26: opRel32 /* REL32 */, 78: opTLS32Bias, /* DTPREL32 */
	},
	stdelf.EM_RISCV: {
		stdelf.R_RISCV_NONE: opNone, stdelf.R_RISCV_32: opAbs32, stdelf.R_RISCV_64: opAbs64, stdelf.R_RISCV_RELAX: opNone,
		stdelf.R_RISCV_TLS_DTPREL32: opTLS32, stdelf.R_RISCV_TLS_DTPREL64: opTLS64, stdelf.R_RISCV_32_PCREL: opRel32,
		59:                  opRel32, /* R_RISCV_PLT32 */
		stdelf.R_RISCV_SET6: opSet6, stdelf.R_RISCV_SET8: opSet8, stdelf.R_RISCV_SET16: opSet16, stdelf.R_RISCV_SET32: opSet32,
		stdelf.R_RISCV_ADD8: opAdd8, stdelf.R_RISCV_ADD16: opAdd16, stdelf.R_RISCV_ADD32: opAdd32, stdelf.R_RISCV_ADD64: opAdd64,
		stdelf.R_RISCV_SUB6: opSub6, stdelf.R_RISCV_SUB8: opSub8, stdelf.R_RISCV_SUB16: opSub16, stdelf.R_RISCV_SUB32: opSub32,
		stdelf.R_RISCV_SUB64: opSub64, 60: opSetULEB /* SET_ULEB128 */, 61: opSubULEB, /* SUB_ULEB128 */
	},
	stdelf.EM_LOONGARCH: {
		stdelf.R_LARCH_NONE: opNone, stdelf.R_LARCH_32: opAbs32, stdelf.R_LARCH_64: opAbs64, stdelf.R_LARCH_MARK_LA: opNone,
		stdelf.R_LARCH_MARK_PCREL: opNone, stdelf.R_LARCH_RELAX: opNone, stdelf.R_LARCH_TLS_DTPREL32: opTLS32,
		stdelf.R_LARCH_TLS_DTPREL64: opTLS64, stdelf.R_LARCH_32_PCREL: opRel32, stdelf.R_LARCH_64_PCREL: opRel64,
		stdelf.R_LARCH_ADD6: opAdd6, stdelf.R_LARCH_ADD8: opAdd8, stdelf.R_LARCH_ADD16: opAdd16, stdelf.R_LARCH_ADD24: opAdd24,
		stdelf.R_LARCH_ADD32: opAdd32, stdelf.R_LARCH_ADD64: opAdd64, stdelf.R_LARCH_SUB6: opSub6, stdelf.R_LARCH_SUB8: opSub8,
		stdelf.R_LARCH_SUB16: opSub16, stdelf.R_LARCH_SUB24: opSub24, stdelf.R_LARCH_SUB32: opSub32, stdelf.R_LARCH_SUB64: opSub64,
		stdelf.R_LARCH_ADD_ULEB128: opAddULEB, stdelf.R_LARCH_SUB_ULEB128: opSubULEB,
	},
	stdelf.EM_MIPS: {
		stdelf.R_MIPS_NONE: opNone, stdelf.R_MIPS_16: opAbs16, stdelf.R_MIPS_32: opAbs32, stdelf.R_MIPS_64: opAbs64,
		stdelf.R_MIPS_TLS_DTPREL32: opTLS32Bias, stdelf.R_MIPS_TLS_DTPREL64: opTLS64Bias, stdelf.R_MIPS_PC32: opRel32,
	},
}

// relocName gives the supplement's name of a type where debug/elf knows it.
func relocName(m stdelf.Machine, typ uint32) string {
	switch m {
	case stdelf.EM_X86_64:
		return stdelf.R_X86_64(typ).String()
	case stdelf.EM_AARCH64:
		return stdelf.R_AARCH64(typ).String()
	case stdelf.EM_386:
		return stdelf.R_386(typ).String()
	case stdelf.EM_ARM:
		return stdelf.R_ARM(typ).String()
	case stdelf.EM_S390:
		return stdelf.R_390(typ).String()
	case stdelf.EM_PPC64:
		return stdelf.R_PPC64(typ).String()
	case stdelf.EM_PPC:
		return stdelf.R_PPC(typ).String()
	case stdelf.EM_RISCV:
		return stdelf.R_RISCV(typ).String()
	case stdelf.EM_LOONGARCH:
		return stdelf.R_LARCH(typ).String()
	case stdelf.EM_MIPS:
		return stdelf.R_MIPS(typ).String()
	}
	return "?"
}
