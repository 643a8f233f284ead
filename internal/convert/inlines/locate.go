// Package inlines collects sites, the addresses at which functions were inlined. It converts the
// locations of the functions' parameters from DWARF expressions to the form that BTF has for them.
package inlines

import (
	"bytes"
	"encoding/binary"

	"github.com/rules-btf/rules_btf/internal/format/btf"
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
	AddrSize int
	Order    binary.ByteOrder
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

// DWARF operations (DWARF 5, 7.7.1).
const (
	opAddr          = 0x03
	opConst1u       = 0x08
	opConst1s       = 0x09
	opConst2u       = 0x0a
	opConst2s       = 0x0b
	opConst4u       = 0x0c
	opConst4s       = 0x0d
	opConst8u       = 0x0e
	opConst8s       = 0x0f
	opConstu        = 0x10
	opConsts        = 0x11
	opMinus         = 0x1c
	opPlus          = 0x22
	opPlusUconst    = 0x23
	opLit0          = 0x30
	opReg0          = 0x50
	opBreg0         = 0x70
	opRegx          = 0x90
	opFbreg         = 0x91
	opBregx         = 0x92
	opPiece         = 0x93
	opCallFrameCFA  = 0x9c
	opBitPiece      = 0x9d
	opImplicitValue = 0x9e
	opStackValue    = 0x9f
	opImplicitPtr   = 0xa0
	opAddrx         = 0xa1
	opEntryValue    = 0xa3

	opGNUImplicitPtr = 0xf2
	opGNUEntryValue  = 0xf3
	opGNUAddrIndex   = 0xfb
)

// FrameOf reads the frame base from an expression: the CFA or a register, perhaps with an offset.
func (m *Machine) FrameOf(expr []byte) Frame {
	c := cursor{b: expr}
	var f Frame
	if op := c.u8(); isReg(op) || op == opRegx {
		f.register, f.known = c.register(op, opReg0)
	} else {
		c = cursor{b: expr}
		v, why := m.evaluate(&c, Frame{}, true)
		f = Frame{why == Known && v.kind == based, v.register, v.number}
	}
	if c.bad || len(c.b) > 0 {
		return Frame{}
	}
	return f
}

// NeedsFrame reports whether an expression may need the frame base. Its result is a guess, because
// DW_OP_fbreg may also be a byte of an operand.
func NeedsFrame(expr []byte) bool { return bytes.IndexByte(expr, opFbreg) >= 0 }

// Locate returns the location that a DWARF expression gives. If BTF can't express it, the reason
// isn't Known.
func (m *Machine) Locate(expr []byte, p Parameter, frame Frame) (l Location, why Reason) {
	c := cursor{b: expr}
	if len(expr) == 0 {
		return l, NoValue
	}
	if why := p.check(); why != Known {
		return l, why
	}
	l = Location{Size: p.Size}
	switch op := c.u8(); {
	case isReg(op), op == opRegx:
		n, ok := c.register(op, opReg0)
		if c.bad || !ok {
			return l, Computed
		}
		return m.registers(l, n, c)
	case op == opImplicitValue:
		b := c.block()
		if c.bad || !c.ends(l.Size) {
			return l, c.complex()
		}
		return m.Block(b, p)
	case op == opEntryValue || op == opGNUEntryValue:
		return l, EntryValue
	case op == opImplicitPtr || op == opGNUImplicitPtr:
		return l, ImplicitPointer
	case op == opPiece || op == opBitPiece:
		return l, Pieces
	}
	c = cursor{b: expr}
	v, why := m.evaluate(&c, frame, false)
	switch {
	case why != Known:
		return l, why
	case v.kind == based:
		return m.based(l, v, c)
	case v.kind == address && c.ends(l.Size):
		return l, FixedAddress
	case !c.isValue(l.Size):
		return l, c.complex()
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

// registers completes the location of a value in register n, or in n and a second register. c has
// the rest of the expression.
func (m *Machine) registers(l Location, n uint32, c cursor) (Location, Reason) {
	l.Flags = btf.LocReg
	if c.ends(l.Size) {
		l.set(n)
		return l, Known
	}
	word := uint64(m.AddrSize)
	if c.u8() != opPiece {
		return l, Computed
	}
	first := c.uleb()
	op := c.u8()
	second, ok := c.register(op, opReg0)
	if c.bad || !ok || !isReg(op) && op != opRegx || c.u8() != opPiece {
		return l, Pieces
	}
	rest := c.uleb()
	if c.bad || len(c.b) > 0 || first != word || rest == 0 || rest > word ||
		first+rest != uint64(l.Size) {
		return l, Pieces
	}
	if rest < word && m.Order == binary.ByteOrder(binary.BigEndian) {
		return l, Pieces // ABIs differ in which end of the register has the value
	}
	l.set(n, second)
	return l, Known
}

// based completes the location l of a parameter. v is a register plus an offset: the parameter's
// address in memory or its value. c has the rest of the expression.
func (m *Machine) based(l Location, v value, c cursor) (Location, Reason) {
	n, offset := v.register, v.number
	switch {
	case c.ends(l.Size):
		l.Flags = btf.LocReg | btf.LocDeref
	case !c.isValue(l.Size):
		return l, c.complex()
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

func isReg(op byte) bool  { return op >= opReg0 && op < opReg0+32 }
func isBreg(op byte) bool { return op >= opBreg0 && op < opBreg0+32 }

func isConstant(op byte) bool {
	return op >= opConst1u && op <= opConsts || op >= opLit0 && op < opLit0+32
}
