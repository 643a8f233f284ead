package params

// noRegister means that a location names no register.
const noRegister = -1

// location is the place of a parameter at function entry, according to its expressions.
type location struct {
	register int    // DWARF number 0..31, or noRegister
	constant bool   // the first expression is a constant
	known    bool   // the first expression is a value that is neither in a register nor in memory
	caller   bool   // the first expression refers to a value of the caller that isn't passed
	stack    bool   // the first expression is relative to the frame base
	low      uint64 // byte offsets of the pieces in the first register, one bit each
	high     uint64 // the same for the second register, relative to its start
}

// locate reads a parameter's expressions in order. The first one may name a register or compute a
// value from a register; a later one may use a register's value at function entry. Reading ends at
// an invalid expression.
func (m Machine) locate(p *Param) location {
	loc := location{register: noRegister}
	for i, expr := range p.Locations {
		if len(expr) == 0 {
			continue // optimized out in that range
		}
		if !m.read(expr, i == 0, p, &loc) {
			break
		}
	}
	return loc
}

// Settles reports whether expr, the first expression of a parameter with this size, settles the
// parameter's location, so that later expressions don't matter. A single register does.
func (m Machine) Settles(expr []byte, size uint32) bool {
	return len(expr) == 1 && isReg(expr[0]) && (size <= uint32(m.AddrSize) || !m.splitsAggregates())
}

// shape counts the operations in expr and looks for stack_value. ok is false if expr is invalid.
func (m Machine) shape(expr []byte) (count int, lastIsValue, hasValue, ok bool) {
	for len(expr) > 0 {
		op, rest, ok := m.next(expr)
		if !ok {
			return 0, false, false, false
		}
		lastIsValue = op.code == opStackValue
		hasValue = hasValue || lastIsValue && count > 0
		count++
		expr = rest
	}
	return count, lastIsValue, hasValue, true
}

// read adds one expression to the location, and reports whether expr is valid.
func (m Machine) read(expr []byte, first bool, p *Param, loc *location) bool {
	if len(expr) == 1 && isReg(expr[0]) { // as in most cases
		if first {
			loc.setRegister(int(expr[0] - opReg0))
		}
		return true
	}
	count, lastIsValue, hasValue, ok := m.shape(expr)
	if !ok {
		return false
	}
	op, _, _ := m.next(expr)
	if first {
		loc.known = isImplicit(op.code) || hasValue && isLiteral(op.code)
	}
	if count == 2 && lastIsValue {
		count = 1
	}
	switch {
	case isConstant(op.code):
		loc.constant = loc.constant || first
	case op.code == opGNUParameterRef:
		loc.caller = loc.caller || first
	case count > 1 && p.Size > uint32(m.AddrSize) && m.splitsAggregates():
		m.readPieces(expr, loc)
	case isReg(op.code):
		if first {
			loc.setRegister(int(op.code - opReg0))
		}
	case isBreg(op.code):
		if first && hasValue {
			loc.setRegister(int(op.code - opBreg0))
		}
	case count > 1:
		// For a computed value, or a value of one word in pieces, nothing is known.
	case op.code == opFbreg:
		loc.stack = loc.stack || first
	case op.code == opEntryValue || op.code == opGNUEntryValue:
		inner, rest, ok := m.next(op.block)
		if ok && len(rest) == 0 && isReg(inner.code) {
			loc.setRegister(int(inner.code - opReg0))
		}
	}
	return true
}

// readPieces reads the location of a multi-word value in pieces. Each piece is a place followed by
// DW_OP_piece; a piece without a place is optimized out.
func (m Machine) readPieces(expr []byte, loc *location) {
	word := uint64(m.AddrSize)
	var offset uint64
	placed := false // whether the next piece has a place
	for len(expr) > 0 {
		op, rest, ok := m.next(expr)
		if !ok {
			return
		}
		expr = rest
		if op.code != opPiece {
			placed = true
			if isReg(op.code) {
				loc.setRegister(int(op.code - opReg0))
			}
			continue
		}
		if placed {
			if offset < word {
				loc.low |= 1 << offset
			} else if offset-word < 64 {
				loc.high |= 1 << (offset - word)
			}
		}
		placed = false
		if op.number > 1<<20 { // too large for a value in registers
			return
		}
		offset += op.number
	}
}

// setRegister notes r, if r is the first register that is seen.
func (l *location) setRegister(r int) {
	if l.register == noRegister {
		l.register = r
	}
}
