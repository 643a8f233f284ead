package dwarf

import "encoding/binary"

// The operations of DWARF expressions that callers distinguish (DWARF 5, 7.7.1).
const (
	OpAddr            = 0x03
	OpConst1u         = 0x08
	OpConst1s         = 0x09
	OpConst2u         = 0x0a
	OpConst2s         = 0x0b
	OpConst4u         = 0x0c
	OpConst4s         = 0x0d
	OpConst8u         = 0x0e
	OpConst8s         = 0x0f
	OpConstu          = 0x10
	OpConsts          = 0x11
	OpMinus           = 0x1c
	OpPlus            = 0x22
	OpPlusUconst      = 0x23
	OpLit0            = 0x30
	OpReg0            = 0x50
	OpBreg0           = 0x70
	OpRegx            = 0x90
	OpFbreg           = 0x91
	OpBregx           = 0x92
	OpPiece           = 0x93
	OpCallRef         = 0x9a
	OpCallFrameCFA    = 0x9c
	OpBitPiece        = 0x9d
	OpImplicitValue   = 0x9e
	OpStackValue      = 0x9f
	OpImplicitPointer = 0xa0
	OpAddrx           = 0xa1
	OpConstx          = 0xa2
	OpEntryValue      = 0xa3
	OpConstType       = 0xa4
	opRegvalType      = 0xa5
	opDerefType       = 0xa6
	opConvert         = 0xa8
	opReinterpret     = 0xa9

	OpGNUParameterRef  = 0xfa
	OpGNUVariableValue = 0xfd
)

// standard has the operations that GNU defined before DWARF 5 did. Next returns the standard code,
// which has the same operands, so callers need to know only that one.
var standard = [256]byte{
	0xf2: OpImplicitPointer,
	0xf3: OpEntryValue,
	0xf4: OpConstType,
	0xf5: opRegvalType,
	0xf6: opDerefType,
	0xf7: opConvert,
	0xf9: opReinterpret,
	0xfb: OpAddrx,
	0xfc: OpConstx,
}

// IsLit reports whether the operation is one of lit0 to lit31.
func IsLit(code byte) bool { return code >= OpLit0 && code < OpLit0+32 }

// IsReg reports whether the operation is one of reg0 to reg31.
func IsReg(code byte) bool { return code >= OpReg0 && code < OpReg0+32 }

// IsBreg reports whether the operation is one of breg0 to breg31.
func IsBreg(code byte) bool { return code >= OpBreg0 && code < OpBreg0+32 }

// Operation is an operation of an expression.
type Operation struct {
	Code byte // the standard one, also for an operation that GNU defined first
	// Numbers are the operands that are numbers; signed ones are sign-extended. For lit0 to lit31,
	// reg0 to reg31 and breg0 to breg31, the first one is the number in the operation's name.
	Numbers [2]uint64
	// Block is the operand that is a block: a value or, for an entry value, an expression.
	Block []byte
}

// Operands says how operands are encoded in the expressions of a unit.
type Operands struct {
	AddrSize int // bytes in an address
	RefSize  int // bytes in a reference to an entry of any unit
	Order    binary.ByteOrder
}

// Operands says how operands are encoded in the unit's expressions.
func (r *Reader) Operands() Operands {
	o := Operands{AddrSize: int(r.f.addrSize), RefSize: int(r.f.offSize), Order: r.D.Order}
	if r.Unit.Version < 3 { // like DW_FORM_ref_addr
		o.RefSize = o.AddrSize
	}
	return o
}

// Next reads the first operation of an expression, and returns the rest of the expression. ok is
// false if the expression is empty, the operation unknown, or an operand cut off.
func (o *Operands) Next(expr []byte, op *Operation) (rest []byte, ok bool) {
	c := cursor{buf: expr}
	*op = Operation{Code: c.u8()}
	if code := standard[op.Code]; code != 0 {
		op.Code = code
	}
	n := 0
	if op.Code >= OpLit0 && op.Code < OpBreg0+32 {
		op.Numbers[0] = uint64(op.Code-OpLit0) % 32
		n = 1
	}
	kinds, known := operands(op.Code)
	for i := range len(kinds) {
		switch kind := kinds[i]; kind {
		case 'b':
			op.Block = c.block(c.uleb())
		case 'c':
			op.Block = c.block(uint64(c.u8()))
		default:
			op.Numbers[n] = o.number(&c, kind)
			n++
		}
	}
	return expr[c.pos:], known && !c.bad
}

// operands returns a character for each operand of an operation: u and s for LEB128 numbers,
// unsigned and signed; 1, 2, 4 and 8 for unsigned numbers of so many bytes, and B, H and W for
// signed ones of 1, 2 and 4 bytes; a for an address; r for a reference to an entry of any unit;
// b for a LEB128 size and a block of that many bytes; c for the same with a size of one byte.
func operands(code byte) (kinds string, known bool) {
	switch {
	case IsBreg(code):
		return "s", true
	case code >= OpLit0 && code < OpBreg0:
		return "", true
	}
	switch code {
	case OpAddr:
		return "a", true
	case OpCallRef, OpGNUVariableValue:
		return "r", true
	case OpImplicitPointer:
		return "rs", true
	case OpEntryValue, OpImplicitValue:
		return "b", true
	case OpConstType:
		return "uc", true
	case OpConst1u, 0x15, 0x94, 0x95: // pick deref_size xderef_size
		return "1", true
	case OpConst2u, 0x28, 0x2f, 0x98: // bra skip call2
		return "2", true
	case OpConst4u, 0x99, OpGNUParameterRef: // call4
		return "4", true
	case OpConst8u, OpConst8s:
		return "8", true
	case OpConst1s:
		return "B", true
	case OpConst2s:
		return "H", true
	case OpConst4s:
		return "W", true
	case OpConstu, OpPlusUconst, OpRegx, OpPiece, OpAddrx, OpConstx, opConvert, opReinterpret:
		return "u", true
	case OpConsts, OpFbreg:
		return "s", true
	case OpBregx:
		return "us", true
	case OpBitPiece, opRegvalType:
		return "uu", true
	case opDerefType, 0xa7: // xderef_type
		return "1u", true
	case 0x06, 0x12, 0x13, 0x14, 0x96, 0x97, 0x9b, OpCallFrameCFA, OpStackValue, 0xe0, 0xf0:
		return "", true
	}
	return "", code >= 0x16 && code <= 0x2e
}

// number reads an operand of a kind that operands returns.
func (o *Operands) number(c *cursor, kind byte) uint64 {
	switch kind {
	case 'u':
		return c.uleb()
	case 's':
		return uint64(c.sleb())
	case 'a':
		return c.uint(o.Order, o.AddrSize)
	case 'r':
		return c.uint(o.Order, o.RefSize)
	case 'B':
		return uint64(int8(c.u8()))
	case 'H':
		return uint64(int16(c.uint(o.Order, 2)))
	case 'W':
		return uint64(int32(c.uint(o.Order, 4)))
	}
	return c.uint(o.Order, int(kind-'0'))
}
