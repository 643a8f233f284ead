package inlines

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
)

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

// maxExpression limits the bytes of an expression that is evaluated. What BTF can express needs a
// few dozen. Without a limit, many sites that share one long expression would cost their product.
const maxExpression = 512

// evaluate computes as much of an expression as BTF can express: values, and sums with constants.
// It stops at the first other operation; rest begins there. DW_OP_call_frame_cfa is known only if
// cfa is set.
func (m *Machine) evaluate(expr []byte, frame Frame, cfa bool) (v value, rest []byte,
	why Reason) {
	var stack [maxStack]value
	var op dwarf.Operation
	n := 0
	if len(expr) > maxExpression {
		return v, expr, Computed
	}
	for len(expr) > 0 {
		rest, ok := m.Next(expr, &op)
		if !ok {
			return v, expr, Computed
		}
		pushed, known, why := m.push(&op, frame, cfa)
		switch {
		case why != Known:
			return v, expr, why
		case known && n == maxStack:
			return v, expr, Computed
		case known:
			stack[n] = pushed
			n++
		case op.Code == dwarf.OpPlusUconst && n > 0:
			stack[n-1].number += int64(op.Numbers[0])
		case (op.Code == dwarf.OpPlus || op.Code == dwarf.OpMinus) && n > 1:
			sum, ok := add(stack[n-2], stack[n-1], op.Code == dwarf.OpMinus)
			if !ok {
				return v, expr, Computed
			}
			n--
			stack[n-1] = sum
		default:
			v, why = m.result(stack[:n])
			return v, expr, why
		}
		expr = rest
	}
	v, why = m.result(stack[:n])
	return v, nil, why
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
func (m *Machine) push(op *dwarf.Operation, frame Frame, cfa bool) (v value, known bool,
	why Reason) {
	number := int64(op.Numbers[0])
	switch code := op.Code; {
	case dwarf.IsLit(code), code >= dwarf.OpConst1u && code <= dwarf.OpConsts:
		return value{number: number}, true, Known
	case dwarf.IsBreg(code), code == dwarf.OpBregx:
		n, ok := register(op)
		if !ok {
			return v, false, Computed
		}
		return value{based, n, int64(op.Numbers[1])}, true, Known
	case code == dwarf.OpFbreg && !frame.known:
		return v, false, NoFrame
	case code == dwarf.OpFbreg:
		return value{based, frame.register, frame.offset + number}, true, Known
	case code == dwarf.OpCallFrameCFA && cfa:
		return value{based, btf.LocFrameBase, 0}, true, Known
	case code == dwarf.OpAddr:
		return value{kind: address, number: number}, true, Known
	case code == dwarf.OpAddrx:
		addr, ok := m.Addrx(op.Numbers[0])
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
