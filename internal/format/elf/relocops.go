package elf

// relocOp is the effect of a relocation type, independent of the machine: a formula, a check, and
// in the low byte the number of bits that change. The field is the bytes that contain these bits.
type relocOp uint16

// The formulas, in terms of the gABI: S is the symbol's value, A the addend, P the address of the
// field. V is the field's old value.
const (
	opUnknown relocOp = iota << 8
	opNone            // nothing, or a hint for linker relaxation
	opAbs             // S+A
	opRel             // S+A-P
	opTLS             // S-block+A: offset in the block of thread-local variables
	opTLSBias         // S-block+A-tlsBias
	opSize            // size of S+A
	opSet             // S+A, cut to the field
	opAdd             // V+S+A, cut to the field
	opSub             // V-S-A, cut to the field
	opSetULEB         // like the next two, half of a pair that stores a difference in a ULEB128
	opAddULEB
	opSubULEB
	formulas relocOp = 0xf00 // mask
)

// The checks: which values a field may have. Without a check, higher bits are cut off.
const (
	either   relocOp  = (iota + 1) << 12 // signed or unsigned numbers of the field's width
	signed                               // signed numbers of the field's width
	unsigned                             // unsigned numbers of the field's width
	checks   = 0xf000                    // mask
)

const (
	opAbs64     = opAbs | 64
	opAbs32     = opAbs | either | 32
	opAbs32U    = opAbs | unsigned | 32
	opAbs32S    = opAbs | signed | 32
	opAbs16     = opAbs | either | 16
	opAbs8      = opAbs | either | 8
	opRel64     = opRel | 64
	opRel32     = opRel | signed | 32
	opRel31     = opRel | signed | 31
	opRel16     = opRel | signed | 16
	opRel8      = opRel | signed | 8
	opTLS64     = opTLS | 64
	opTLS32     = opTLS | either | 32
	opTLS64Bias = opTLSBias | 64
	opTLS32Bias = opTLSBias | either | 32
	opSize64    = opSize | 64
	opSize32    = opSize | either | 32
)

func (op relocOp) bits() uint8 { return uint8(op) }

func (op relocOp) fits(v uint64) bool {
	bits := op.bits()
	isSigned, isUnsigned := signExtend(v, bits) == v, v>>bits == 0
	switch op & checks {
	case either:
		return isSigned || isUnsigned
	case signed:
		return isSigned
	case unsigned:
		return isUnsigned
	}
	return true
}
