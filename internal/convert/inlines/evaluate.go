package inlines

import "github.com/rules-btf/rules_btf/internal/format/btf"

// value is what an expression computes: a constant; an address in the file; or the sum of a
// constant and a register, or the frame base.
type value struct {
	kind     valueKind
	register uint32 // or btf.LocFrameBase
	number   int64
}

type valueKind uint8

const (
	constant valueKind = iota
	address
	based
)

// maxStack limits the values on the stack. Compilers need two for what BTF can express.
const maxStack = 8

// evaluate computes as much of an expression as BTF can express: values, and sums with constants.
// It stops at the first other operation, and leaves it in c. DW_OP_call_frame_cfa is known only if
// cfa is set.
func (m *Machine) evaluate(c *cursor, frame Frame, cfa bool) (v value, why Reason) {
	var stack [maxStack]value
	n := 0
	for len(c.b) > 0 {
		next := *c
		op := next.u8()
		pushed, known, why := m.push(&next, op, frame, cfa)
		switch {
		case next.bad:
			return v, Computed
		case why != Known:
			return v, why
		case known && n == maxStack:
			return v, Computed
		case known:
			stack[n] = pushed
			n++
		case op == opPlusUconst && n > 0:
			stack[n-1].number += int64(next.uleb())
		case (op == opPlus || op == opMinus) && n > 1:
			sum, ok := add(stack[n-2], stack[n-1], op == opMinus)
			if !ok {
				return v, Computed
			}
			n--
			stack[n-1] = sum
		default:
			return m.result(stack[:n])
		}
		if next.bad {
			return v, Computed
		}
		*c = next
	}
	return m.result(stack[:n])
}

// result returns the only value on the stack. Sums wrap around like addresses.
func (m *Machine) result(stack []value) (value, Reason) {
	if len(stack) != 1 {
		return value{}, Computed
	}
	v := stack[0]
	if m.AddrSize == 4 && v.kind == based {
		v.number = int64(int32(v.number))
	}
	return v, Known
}

// push returns the value that an operation pushes. known is false if it isn't an operation that
// pushes a value, or if the value isn't known.
func (m *Machine) push(c *cursor, op byte, frame Frame, cfa bool) (v value, known bool,
	why Reason) {
	switch {
	case isConstant(op):
		return value{number: int64(c.constant(op, m.Order))}, true, Known
	case isBreg(op), op == opBregx:
		n, ok := c.register(op, opBreg0)
		if !ok {
			return v, false, Computed
		}
		return value{based, n, c.sleb()}, true, Known
	case op == opFbreg && !frame.known:
		return v, false, NoFrame
	case op == opFbreg:
		return value{based, frame.register, frame.offset + c.sleb()}, true, Known
	case op == opCallFrameCFA && cfa:
		return value{based, btf.LocFrameBase, 0}, true, Known
	case op == opAddr:
		return value{kind: address, number: int64(c.uint(m.AddrSize, m.Order))}, true, Known
	case op == opAddrx, op == opGNUAddrIndex:
		addr, ok := m.Addrx(c.uleb())
		if !ok {
			return v, false, Computed
		}
		return value{kind: address, number: int64(addr)}, true, Known
	}
	return v, false, Known
}

// add returns a + b or, if minus is set, a - b. ok is false if BTF can't express the result.
func add(a, b value, minus bool) (sum value, ok bool) {
	switch {
	case b.kind == constant && minus:
		a.number -= b.number
		return a, true
	case minus:
		return value{}, false
	case b.kind == constant:
		a.number += b.number
		return a, true
	case a.kind == constant:
		b.number += a.number
		return b, true
	}
	return value{}, false
}
