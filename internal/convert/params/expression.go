package params

// DWARF expression opcodes (DWARF 5, section 7.7.1) that matter here.
const (
	opAddr            = 0x03
	opConst1U         = 0x08
	opConstU          = 0x10
	opConstS          = 0x11
	opLit0            = 0x30
	opLit31           = 0x4f
	opReg0            = 0x50
	opReg31           = 0x6f
	opBreg0           = 0x70
	opBreg31          = 0x8f
	opFbreg           = 0x91
	opPiece           = 0x93
	opCallRef         = 0x9a
	opImplicitValue   = 0x9e
	opStackValue      = 0x9f
	opImplicitPointer = 0xa0
	opAddrx           = 0xa1
	opConstx          = 0xa2
	opEntryValue      = 0xa3
	opConstType       = 0xa4

	opGNUImplicitPointer = 0xf2
	opGNUEntryValue      = 0xf3
	opGNUConstType       = 0xf4
	opGNUParameterRef    = 0xfa
	opGNUVariableValue   = 0xfd
)

type operation struct {
	code   byte
	number uint64 // the first operand, if it is a LEB128 number
	block  []byte // the bytes of the last operand; for entry_value, the inner expression
}

// operands returns a character for each operand of an operation. The digits 1, 2, 4 and 8 represent
// that many bytes; a represents an address, o an offset in a section, u a LEB128 number, b a LEB128
// size and a block of that many bytes, and c a one-byte size and a block of that many bytes. ok is
// false if the opcode is unknown.
func operands(code byte) (kinds string, ok bool) {
	switch {
	case isBreg(code):
		return "u", true
	case code >= opLit0 && code <= opReg31:
		return "", true
	}
	switch code {
	case opAddr:
		return "a", true
	case opCallRef, opGNUVariableValue:
		return "o", true
	case opImplicitPointer, opGNUImplicitPointer:
		return "ou", true
	case opEntryValue, opGNUEntryValue, opImplicitValue:
		return "b", true
	case opConstType, opGNUConstType:
		return "uc", true
	case 0x08, 0x09, 0x15, 0x94, 0x95: // const1u const1s pick deref_size xderef_size
		return "1", true
	case 0x0a, 0x0b, 0x28, 0x2f, 0x98: // const2u const2s bra skip call2
		return "2", true
	case 0x0c, 0x0d, 0x99, opGNUParameterRef: // const4u const4s call4
		return "4", true
	case 0x0e, 0x0f: // const8u const8s
		return "8", true
	case opConstU, opConstS, 0x23, 0x90, opFbreg, opPiece, // plus_uconst regx
		0xa1, 0xa2, 0xa8, 0xa9, 0xf7, 0xf9, 0xfb, 0xfc: // addrx constx convert reinterpret, GNU ones
		return "u", true
	case 0x92, 0x9d, 0xa5, 0xf5: // bregx bit_piece regval_type GNU_regval_type
		return "uu", true
	case 0xa6, 0xa7, 0xf6: // deref_type xderef_type GNU_deref_type
		return "1u", true
	case 0x06, 0x12, 0x13, 0x14, 0x96, 0x97, 0x9b, 0x9c, opStackValue, 0xe0, 0xf0:
		return "", true
	}
	return "", code >= 0x16 && code <= 0x2e
}

// next returns the first operation of a DWARF expression, and the rest of the expression. ok is
// false if the opcode is unknown or the operands are cut off.
func (m Machine) next(expr []byte) (op operation, rest []byte, ok bool) {
	if len(expr) == 0 {
		return op, nil, false
	}
	op.code, rest = expr[0], expr[1:]
	kinds, ok := operands(op.code)
	for i := 0; ok && i < len(kinds); i++ {
		size := uint64(kinds[i] - '0')
		switch kinds[i] {
		case 'a':
			size = uint64(m.AddrSize)
		case 'o':
			size = m.offsetSize()
		case 'u':
			size = 0
			n := uint64(0)
			if n, rest, ok = uleb(rest); i == 0 {
				op.number = n
			}
		case 'b':
			size, rest, ok = uleb(rest)
		case 'c':
			if ok = len(rest) > 0; ok {
				size, rest = uint64(rest[0]), rest[1:]
			}
		}
		if !ok || size > uint64(len(rest)) {
			return op, nil, false
		}
		op.block, rest = rest[:size], rest[size:]
	}
	return op, rest, ok
}

func (m Machine) offsetSize() uint64 {
	if m.DWARF64 {
		return 8
	}
	return 4
}

// uleb reads a LEB128 number; bits past the 64th are dropped. It can also skip signed numbers.
func uleb(b []byte) (v uint64, rest []byte, ok bool) {
	for i, c := range b {
		if shift := uint(i) * 7; shift < 64 {
			v |= uint64(c&0x7f) << shift
		}
		if c < 0x80 {
			return v, b[i+1:], true
		}
	}
	return 0, nil, false
}

func isReg(code byte) bool { return code >= opReg0 && code <= opReg31 }

func isBreg(code byte) bool { return code >= opBreg0 && code <= opBreg31 }

func isConstant(code byte) bool {
	return code >= opLit0 && code <= opLit31 || code == opConstU || code == opConstS
}

// isLiteral reports whether the operation pushes a number that it contains.
func isLiteral(code byte) bool {
	return code == opAddr || code >= opConst1U && code <= opConstS ||
		code >= opLit0 && code <= opLit31 || code == opAddrx || code == opConstx
}

// isImplicit reports whether the operation gives the parameter's value itself, not its place.
func isImplicit(code byte) bool {
	return code == opImplicitValue || code == opImplicitPointer || code == opGNUImplicitPointer
}
