package params

import (
	"bytes"
	"slices"
)

const opNop = 0x96

// invalid is an expression that no machine can read.
var invalid = []byte{0xff}

// Reduce returns a list of expressions that says the same of a parameter as those of its location,
// whatever the parameter's size: the first one is the first's, and others are there only if they
// can add something. No address, no place in a section and no number that Judge doesn't look at is
// left, so the result doesn't change when a program is linked anew. What is returned is for units
// of 32-bit DWARF.
func (m Machine) Reduce(exprs [][]byte) [][]byte {
	var list [][]byte
	placed := false // a register is known, whatever the size
	for i, expr := range exprs {
		if i > 0 && len(expr) == 0 {
			continue
		}
		e, of := m.reduce(expr)
		if i == 0 {
			list, placed = append(list, e), of == inRegister
		} else if !slices.ContainsFunc(list[1:], func(x []byte) bool { return bytes.Equal(x, e) }) {
			switch {
			case of == inPieces, of == unreadable:
				list = append(list, e)
			case of == entryRegister && !placed:
				list = append(list, e)
				placed = true
			}
		}
		if of == unreadable {
			break
		}
	}
	return list
}

// kind says what an expression can tell.
type kind uint8

const (
	little        kind = iota // nothing, unless it is the first
	inRegister                // it is a register
	entryRegister             // it is a register's value at entry
	inPieces                  // it has pieces, or registers among several operations
	unreadable
)

// reduce returns an expression of the same shape without the numbers that don't count.
func (m Machine) reduce(expr []byte) (to []byte, of kind) {
	if len(expr) == 0 {
		return nil, little
	}
	if len(expr) == 1 && isReg(expr[0]) {
		return expr, inRegister
	}
	first, count, value, parts := 0, 0, false, false
	for rest := expr; len(rest) > 0; count++ {
		op, after, ok := m.next(rest)
		if !ok {
			return invalid, unreadable
		}
		rest = after
		to = m.appendReduced(to, op)
		if count == 0 {
			first = len(to)
			if isEntryRegister(op) {
				of = entryRegister
			}
			parts = op.code == opPiece || isReg(op.code)
			continue
		}
		value = value || op.code == opStackValue
		parts = parts || op.code == opPiece || isReg(op.code)
	}
	switch {
	case parts:
		return to, inPieces
	case count > 2 || count == 2 && !value: // computed
		to = append(to[:first:first], opNop)
		if value {
			to = append(to, opStackValue)
		}
		return to, little
	}
	return to, of
}

// appendReduced appends an operation with the operands that count.
func (m Machine) appendReduced(to []byte, op operation) []byte {
	to = append(to, op.code)
	kinds, _ := operands(op.code)
	for i, k := range kinds {
		switch {
		case k == 'u' && i == 0 && op.code == opPiece:
			to = appendUleb(to, op.number)
		case k == 'b' && isEntryRegister(op):
			to = append(to, 1, op.block[0])
		case k == 'b': // an expression or a value, of which nothing counts
			to = append(to, 1, opNop)
		case k == 'a':
			to = append(to, make([]byte, m.AddrSize)...)
		case k == 'o':
			to = append(to, make([]byte, 4)...)
		case k >= '1' && k <= '8':
			to = append(to, make([]byte, k-'0')...)
		default:
			to = append(to, 0)
		}
	}
	return to
}

// isEntryRegister tells whether the operation is the value of a register at entry.
func isEntryRegister(op operation) bool {
	return (op.code == opEntryValue || op.code == opGNUEntryValue) &&
		len(op.block) == 1 && isReg(op.block[0])
}

func appendUleb(to []byte, v uint64) []byte {
	for ; v >= 0x80; v >>= 7 {
		to = append(to, byte(v)|0x80)
	}
	return append(to, byte(v))
}
