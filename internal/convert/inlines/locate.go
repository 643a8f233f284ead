// Package inlines collects sites, the addresses at which functions were inlined. It converts the
// locations of the functions' parameters from DWARF expressions to the form that BTF has for them.
package inlines

import (
	"bytes"
	"encoding/binary"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
)

// Location is where a parameter is, in the form of a LOC_PARAM. Unlike in a LOC_PARAM, an address
// (btf.LocAddr) is absolute; Sites.At makes it relative.
type Location struct {
	Size, Flags uint32
	Count       uint32 // of the values
	Values      [3]uint32
}

// maxSize and maxConstant are the largest parameters and constants, in bytes, that the kernel
// accepts in a LOC_PARAM (btf_loc_param_check_meta).
const (
	maxSize     = 16
	maxConstant = 8
)

// Frame is the frame base of a function (DW_AT_frame_base).
type Frame struct {
	known    bool
	register uint32 // or btf.LocFrameBase
	offset   int64
}

// Machine describes the file whose expressions are read.
type Machine struct {
	dwarf.Operands
	// Relocatable is set for files such as modules, whose addresses are chosen when they are loaded.
	Relocatable bool
	// Addrx returns the address with an index in .debug_addr.
	Addrx func(index uint64) (uint64, bool)
}

// Parameter has the properties of a parameter's type.
type Parameter struct {
	Size   uint32      // in bytes
	Signed func() bool // the type is a signed number
}

// FrameOf reads the frame base from an expression: the CFA or a register, perhaps with an offset.
func (m *Machine) FrameOf(expr []byte) Frame {
	var op dwarf.Operation
	if rest, ok := m.Next(expr, &op); ok && len(rest) == 0 && isRegister(op.Code) {
		n, ok := register(&op)
		return Frame{known: ok, register: n}
	}
	v, rest, why := m.evaluate(expr, Frame{}, true)
	if why != Known || v.kind != based || len(rest) > 0 {
		return Frame{}
	}
	return Frame{true, v.register, v.number}
}

// NeedsFrame reports whether an expression may need the frame base. Its result is a guess, because
// DW_OP_fbreg may also be a byte of an operand. An expression that is too long to be evaluated
// needs none.
func NeedsFrame(expr []byte) bool {
	return len(expr) <= maxExpression && bytes.IndexByte(expr, dwarf.OpFbreg) >= 0
}

// Locate returns the location that a DWARF expression gives. If BTF can't express it, the reason
// isn't Known.
// Rule: sites of inlined functions: where a parameter is. Source: pahole's branch next.
func (m *Machine) Locate(expr []byte, p Parameter, frame Frame) (l Location, why Reason) {
	if len(expr) == 0 {
		return l, NoValue
	}
	if why := p.check(); why != Known {
		return l, why
	}
	l = Location{Size: p.Size}
	var op dwarf.Operation
	rest, ok := m.Next(expr, &op)
	switch {
	case !ok:
		return l, Computed
	case isRegister(op.Code):
		n, ok := register(&op)
		if !ok {
			return l, Computed
		}
		return m.registers(l, n, rest)
	case op.Code == dwarf.OpImplicitValue:
		if !m.ends(rest, l.Size) {
			return l, complex(rest)
		}
		return m.Block(op.Block, p)
	case op.Code == dwarf.OpEntryValue:
		return l, EntryValue
	case op.Code == dwarf.OpImplicitPointer:
		return l, ImplicitPointer
	case isPiece(op.Code):
		return l, Pieces
	}
	v, rest, why := m.evaluate(expr, frame, false)
	switch {
	case why != Known:
		return l, why
	case v.kind == based:
		return m.based(l, v, rest)
	case v.kind == address && m.ends(rest, l.Size):
		return l, FixedAddress
	case !m.isValue(rest, l.Size):
		return l, complex(rest)
	case l.Size > maxConstant:
		return l, TooLarge
	case l.Size > uint32(m.AddrSize): // the expression has only the low bytes
		return l, Computed
	case v.kind == constant:
		return m.Constant(uint64(v.number), p)
	case m.Relocatable:
		return l, Unplaced
	}
	l.Flags = btf.LocConst | btf.LocAddr
	l.set(uint32(v.number), uint32(uint64(v.number)>>32))
	return l, Known
}

// check returns why BTF can't locate a parameter of this type, or Known.
func (p *Parameter) check() Reason {
	switch {
	case p.Size == 0:
		return NoSize
	case p.Size > maxSize:
		return TooLarge
	}
	return Known
}

// Block returns the location of a parameter with a constant value, given as bytes in memory.
func (m *Machine) Block(b []byte, p Parameter) (Location, Reason) {
	if why := p.check(); why != Known {
		return Location{}, why
	}
	switch {
	case p.Size > maxConstant:
		return Location{}, TooLarge
	case uint64(len(b)) != uint64(p.Size):
		return Location{}, Pieces
	}
	v := uint64(0)
	for i := range b {
		if m.Order == binary.ByteOrder(binary.BigEndian) {
			v = v<<8 | uint64(b[i])
		} else {
			v |= uint64(b[i]) << (8 * i)
		}
	}
	return m.Constant(v, p)
}

// Constant returns the location of a parameter whose value is constant.
func (m *Machine) Constant(v uint64, p Parameter) (l Location, why Reason) {
	if why := p.check(); why != Known {
		return l, why
	}
	if p.Size > maxConstant {
		return l, TooLarge
	}
	shift := 64 - 8*p.Size
	l = Location{Size: p.Size, Flags: btf.LocConst}
	if negative := int64(v<<shift) < 0; negative && p.Signed() {
		l.Flags |= btf.LocSigned
		v = uint64(int64(v<<shift) >> shift)
	} else {
		v = v << shift >> shift
	}
	if p.Size > 4 {
		l.set(uint32(v), uint32(v>>32))
	} else {
		l.set(uint32(v))
	}
	return l, Known
}

func (l *Location) set(values ...uint32) { l.Count = uint32(copy(l.Values[:], values)) }

// registers completes the location of a value in register n, or in n and a second register. rest
// is the rest of the expression.
func (m *Machine) registers(l Location, n uint32, rest []byte) (Location, Reason) {
	l.Flags = btf.LocReg
	if m.ends(rest, l.Size) {
		l.set(n)
		return l, Known
	}
	var first, place, last dwarf.Operation
	rest, ok := m.Next(rest, &first)
	if !ok || first.Code != dwarf.OpPiece {
		return l, Computed
	}
	rest, _ = m.Next(rest, &place)
	rest, ok = m.Next(rest, &last)
	second, known := register(&place)
	if !ok || !known || !isRegister(place.Code) || last.Code != dwarf.OpPiece || len(rest) > 0 {
		return l, Pieces
	}
	word, size := uint64(m.AddrSize), last.Numbers[0]
	if first.Numbers[0] != word || size == 0 || size > word || word+size != uint64(l.Size) {
		return l, Pieces
	}
	if size < word && m.Order == binary.ByteOrder(binary.BigEndian) {
		return l, Pieces // ABIs differ in which end of the register has the value
	}
	l.set(n, second)
	return l, Known
}

// based completes the location l of a parameter. v is a register plus an offset: the parameter's
// address in memory or its value. rest is the rest of the expression.
func (m *Machine) based(l Location, v value, rest []byte) (Location, Reason) {
	n, offset := v.register, v.number
	switch {
	case m.ends(rest, l.Size):
		l.Flags = btf.LocReg | btf.LocDeref
	case !m.isValue(rest, l.Size):
		return l, complex(rest)
	case l.Size > uint32(m.AddrSize):
		return l, Computed
	default:
		l.Flags = btf.LocReg
	}
	switch {
	case offset == 0:
		l.set(n)
		return l, Known
	case int64(int32(offset)) == offset:
		l.set(n, uint32(offset))
	default:
		l.set(n, uint32(offset), uint32(uint64(offset)>>32))
	}
	l.Flags |= btf.LocOffset | btf.LocSigned
	return l, Known
}

// ends reports whether nothing is left of an expression, except perhaps a DW_OP_piece with the size
// of the whole parameter, in bytes.
func (m *Machine) ends(rest []byte, size uint32) bool {
	if len(rest) == 0 {
		return true
	}
	var op dwarf.Operation
	rest, ok := m.Next(rest, &op)
	return ok && op.Code == dwarf.OpPiece && op.Numbers[0] == uint64(size) && len(rest) == 0
}

// isValue reports whether what was read is the parameter's value: only DW_OP_stack_value is left,
// and perhaps a DW_OP_piece with the size of the whole parameter.
func (m *Machine) isValue(rest []byte, size uint32) bool {
	return len(rest) > 0 && rest[0] == dwarf.OpStackValue && m.ends(rest[1:], size)
}

// complex returns why BTF can't express an expression of which rest is left.
func complex(rest []byte) Reason {
	if len(rest) > 0 && rest[0] == dwarf.OpStackValue {
		rest = rest[1:]
	}
	if len(rest) > 0 && isPiece(rest[0]) {
		return Pieces
	}
	return Computed
}

// register returns the register that an operation names. ok is false if the number is too large for
// BTF.
func register(op *dwarf.Operation) (n uint32, ok bool) {
	return uint32(op.Numbers[0]), op.Numbers[0] < 1<<31
}

func isRegister(code byte) bool { return dwarf.IsReg(code) || code == dwarf.OpRegx }

func isPiece(code byte) bool { return code == dwarf.OpPiece || code == dwarf.OpBitPiece }
