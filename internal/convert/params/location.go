package params

import "github.com/rules-btf/rules_btf/internal/format/dwarf"

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
// Rule: location of a parameter: its register. Source: pahole dwarf_loader.c
// parameter__decode_location.
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
	return len(expr) == 1 && dwarf.IsReg(expr[0]) &&
		(size <= uint32(m.AddrSize) || !m.splitsAggregates())
}

// shape counts the operations in expr and looks for stack_value. ok is false if expr is invalid.
func (m Machine) shape(expr []byte) (count int, lastIsValue, hasValue, ok bool) {
	var op dwarf.Operation
	for len(expr) > 0 {
		rest, ok := m.Next(expr, &op)
		if !ok {
			return 0, false, false, false
		}
		lastIsValue = op.Code == dwarf.OpStackValue
		hasValue = hasValue || lastIsValue && count > 0
		count++
		expr = rest
	}
	return count, lastIsValue, hasValue, true
}

// read adds one expression to the location, and reports whether expr is valid.
func (m Machine) read(expr []byte, first bool, p *Param, loc *location) bool {
	if len(expr) == 1 && dwarf.IsReg(expr[0]) { // as in most cases
		if first {
			loc.setRegister(int(expr[0] - dwarf.OpReg0))
		}
		return true
	}
	count, lastIsValue, hasValue, ok := m.shape(expr)
	if !ok {
		return false
	}
	var op dwarf.Operation
	m.Next(expr, &op)
	if first {
		loc.known = isImplicit(op.Code) || hasValue && isLiteral(op.Code)
	}
	if count == 2 && lastIsValue {
		count = 1
	}
	switch {
	case isConstant(op.Code):
		loc.constant = loc.constant || first
	case op.Code == dwarf.OpGNUParameterRef:
		loc.caller = loc.caller || first
	case count > 1 && p.Size > uint32(m.AddrSize) && m.splitsAggregates():
		m.readPieces(expr, loc)
	case dwarf.IsReg(op.Code):
		if first {
			loc.setRegister(int(op.Numbers[0]))
		}
	case dwarf.IsBreg(op.Code):
		if first && hasValue {
			loc.setRegister(int(op.Numbers[0]))
		}
	case count > 1:
		// For a computed value, or a value of one word in pieces, nothing is known.
	case op.Code == dwarf.OpFbreg:
		loc.stack = loc.stack || first
	case op.Code == dwarf.OpEntryValue:
		rest, ok := m.Next(op.Block, &op)
		if ok && len(rest) == 0 && dwarf.IsReg(op.Code) {
			loc.setRegister(int(op.Numbers[0]))
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
	var op dwarf.Operation
	for len(expr) > 0 {
		rest, ok := m.Next(expr, &op)
		if !ok {
			return
		}
		expr = rest
		if op.Code != dwarf.OpPiece {
			placed = true
			if dwarf.IsReg(op.Code) {
				loc.setRegister(int(op.Numbers[0]))
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
		if op.Numbers[0] > 1<<20 { // too large for a value in registers
			return
		}
		offset += op.Numbers[0]
	}
}

// setRegister notes r, if r is the first register that is seen.
func (l *location) setRegister(r int) {
	if l.register == noRegister {
		l.register = r
	}
}

func isConstant(code byte) bool {
	return dwarf.IsLit(code) || code == dwarf.OpConstu || code == dwarf.OpConsts
}

// isLiteral reports whether the operation pushes a number that it contains.
func isLiteral(code byte) bool {
	return code == dwarf.OpAddr || code >= dwarf.OpConst1u && code <= dwarf.OpConsts ||
		dwarf.IsLit(code) || code == dwarf.OpAddrx || code == dwarf.OpConstx
}

// isImplicit reports whether the operation gives the parameter's value itself, not its place.
func isImplicit(code byte) bool {
	return code == dwarf.OpImplicitValue || code == dwarf.OpImplicitPointer
}
