package inlines

import "encoding/binary"

// cursor reads the operands of an expression. An error sets bad.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) u8() byte {
	if len(c.b) == 0 {
		c.bad = true
		return 0
	}
	v := c.b[0]
	c.b = c.b[1:]
	return v
}

// uint reads a number of 1, 2, 4 or 8 bytes.
func (c *cursor) uint(size int, order binary.ByteOrder) uint64 {
	if len(c.b) < size {
		c.bad, c.b = true, nil
		return 0
	}
	b := c.b[:size]
	c.b = c.b[size:]
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(order.Uint16(b))
	case 4:
		return uint64(order.Uint32(b))
	}
	return order.Uint64(b)
}

// uleb reads an unsigned LEB128 number; bits past the 64th are dropped.
func (c *cursor) uleb() (v uint64) {
	for shift := uint(0); ; shift += 7 {
		b := c.u8()
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b < 0x80 {
			return v
		}
	}
}

func (c *cursor) sleb() (v int64) {
	for shift := uint(0); ; {
		b := c.u8()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		if shift += 7; b < 0x80 {
			if b&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
}

// block reads a length and that many bytes.
func (c *cursor) block() []byte {
	n := c.uleb()
	if n > uint64(len(c.b)) {
		c.bad = true
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

// register returns the register of the operation op: its operand, or the distance of op from first,
// the operation for register 0. ok is false if the number is too large for BTF.
func (c *cursor) register(op, first byte) (n uint32, ok bool) {
	if op != opRegx && op != opBregx {
		return uint32(op - first), true
	}
	v := c.uleb()
	return uint32(v), v < 1<<31
}

// constant reads the operand of an operation that pushes a constant.
func (c *cursor) constant(op byte, order binary.ByteOrder) uint64 {
	switch op {
	case opConst1u:
		return uint64(c.u8())
	case opConst1s:
		return uint64(int8(c.u8()))
	case opConst2u:
		return c.uint(2, order)
	case opConst2s:
		return uint64(int16(c.uint(2, order)))
	case opConst4u:
		return c.uint(4, order)
	case opConst4s:
		return uint64(int32(c.uint(4, order)))
	case opConst8u, opConst8s:
		return c.uint(8, order)
	case opConstu:
		return c.uleb()
	case opConsts:
		return uint64(c.sleb())
	}
	return uint64(op - opLit0)
}

// ends reports whether nothing is left, except perhaps a DW_OP_piece with the size of the whole
// parameter, in bytes.
func (c cursor) ends(size uint32) bool {
	return len(c.b) == 0 || c.u8() == opPiece && c.uleb() == uint64(size) && !c.bad && len(c.b) == 0
}

// isValue reports whether what was read is the parameter's value: only DW_OP_stack_value is left,
// and perhaps a DW_OP_piece with the size of the whole parameter.
func (c cursor) isValue(size uint32) bool { return c.u8() == opStackValue && c.ends(size) }

// complex returns why BTF can't express an expression in which the operations in c are left.
func (c *cursor) complex() Reason {
	rest := c.b
	if len(rest) > 0 && rest[0] == opStackValue {
		rest = rest[1:]
	}
	if len(rest) > 0 && (rest[0] == opPiece || rest[0] == opBitPiece) {
		return Pieces
	}
	return Computed
}
