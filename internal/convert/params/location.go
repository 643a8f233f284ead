package params

// noRegister stands for a location that names no register.
const noRegister = -1

// location is what a parameter's expressions say about function entry.
type location struct {
	register int  // DWARF number 0..31, or noRegister
	constant bool // the first expression is a constant
	known    bool // the first expression is a value that is neither in a register nor in memory
	// the first expression asks the caller for the value of a parameter that it doesn't pass
	caller bool
	stack  bool   // the first expression is relative to the frame base
	low    uint64 // byte offsets of the pieces in the first register, one bit each
	high   uint64 // and in the second, relative to its start
}

// locate reads a parameter's expressions in their order. A register comes from the first expression
// - itself, or as base of a computed value - or from a later one that refers to the value at entry.
// Reading ends at an expression that is not valid.
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

// Settles reports whether expr, the first expression of the location of a parameter of that size,
// determines the result whatever follows: most begin in one register.
func (m Machine) Settles(expr []byte, size uint32) bool {
	return len(expr) == 1 && isReg(expr[0]) && (size <= uint32(m.AddrSize) || !m.splitsAggregates())
}

// shape counts an expression's operations and looks for stack_value among
// them. ok is false when the expression is not valid.
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

// read takes one expression into the location.
func (m Machine) read(expr []byte, first bool, p *Param, loc *location) bool {
	if len(expr) == 1 && isReg(expr[0]) { // as most are
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
		// A computed value or pieces of one word: nothing known.
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

// readPieces takes a value of several words that lies in pieces: each is a
// place followed by DW_OP_piece, and pieces without a place are optimized out.
func (m Machine) readPieces(expr []byte, loc *location) {
	word := uint64(m.AddrSize)
	var offset uint64
	placed := false // whether the coming piece has a place
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
		if op.number > 1<<20 { // no value in registers is as large
			return
		}
		offset += op.number
	}
}

// setRegister notes the first register that is seen.
func (l *location) setRegister(r int) {
	if l.register == noRegister {
		l.register = r
	}
}
