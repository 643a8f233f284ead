package elf

import (
	"encoding/binary"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// tlsBias is the offset in bytes, in the block of thread-local variables, to which the thread
// pointers of PowerPC and MIPS point.
const tlsBias = 0x8000

// ulebPair is the first relocation of a pair for the ULEB128 number at offset off.
type ulebPair struct {
	pending bool // whether the second one is still to come
	off     uint64
	value   uint64
}

// apply applies a relocation of any machine to the bytes at the offset off in the section. typ is
// the machine's number for the relocation type, sym is the index of a symbol, and addend is the
// addend if it is in the relocation itself.
func (a *applier) apply(off uint64, typ, sym uint32, addend uint64) error {
	op := opUnknown
	if ops := a.machine.ops; uint64(typ) < uint64(len(ops)) {
		op = ops[typ]
	}
	if op == opNone {
		return nil
	}
	if op == opUnknown {
		return a.errorf(off, typ, "is unknown in data sections; "+linkedInstead)
	}
	if uint64(sym) >= uint64(len(a.syms.values)) {
		return a.damaged(off, typ, "uses symbol %d, but the last one is %d", sym, len(a.syms.values)-1)
	}
	formula, bits := op&formulas, op.bits()
	size := uint64(bits+7) / 8
	if off >= uint64(len(a.data)) || uint64(len(a.data))-off < size {
		return a.damaged(off, typ, "is past the end of the section (%d bytes)", len(a.data))
	}
	if a.uleb.pending && (op != opSubULEB || off != a.uleb.off) {
		return a.damaged(a.uleb.off, typ, "is where the second half of a ULEB128 pair should be")
	}
	sv := a.syms.values[sym]
	if formula >= opSetULEB {
		return a.applyULEB(op, off, typ, sv+addend)
	}
	field := a.data[off : off+size]
	old := getField(a.order, field)
	mask := uint64(1)<<bits - 1 // all bits set if bits is 64
	narrow := a.s.f.AddrSize == 4
	if !a.rela && formula < opSet {
		addend = signExtend(old&mask, bits)
	}
	var v uint64
	switch formula {
	case opAbs, opSet:
		v = sv + addend
	case opRel:
		v = sv + addend - (a.s.Addr + off)
	case opTLS, opTLSBias, opSize:
		// Symbol 0 is no symbol; its value is 0.
		if sym != 0 {
			var s Symbol
			if err := a.syms.tab.readSymbol(int(sym), &s); err != nil {
				return err
			}
			if formula == opSize {
				v = s.Size
			} else if s.Place == InSection {
				v = s.Value
			}
		}
		v += addend
		if formula == opTLSBias {
			v -= tlsBias
		}
	case opAdd:
		v = old + sv + addend
	case opSub:
		v = old - sv - addend
	}
	if narrow && formula < opSet {
		v = signExtend(v&0xffffffff, 32)
	}
	if !op.fits(v) && !(narrow && bits == 32) {
		return a.errorf(off, typ, "overflows: value %#x does not fit in %d bits; "+linkedInstead, v,
			bits)
	}
	putField(a.order, field, old&^mask|v&mask)
	return nil
}

// applyULEB applies one relocation of a pair: SET or ADD, then SUB at the same offset. The pair
// stores a difference in a ULEB128 number, whose length doesn't change. v is the symbol's value
// plus the addend.
func (a *applier) applyULEB(op relocOp, off uint64, typ uint32, v uint64) error {
	field := a.data[off:]
	n := 0
	old := uint64(0)
	for {
		if n == len(field) || n == 10 {
			return a.damaged(off, typ, "is not at a ULEB128 number")
		}
		b := field[n]
		old |= uint64(b&0x7f) << (7 * n)
		n++
		if b < 0x80 {
			break
		}
	}
	switch op {
	case opSetULEB:
		a.uleb = ulebPair{true, off, v}
		return nil
	case opAddULEB:
		a.uleb = ulebPair{true, off, old + v}
		return nil
	}
	if !a.uleb.pending {
		return a.damaged(off, typ, "has no first half before it")
	}
	a.uleb.pending = false
	v = a.uleb.value - v
	if n < 10 && v>>(7*n) != 0 {
		return a.errorf(off, typ, "overflows: value %#x does not fit in %d bytes of ULEB128; "+
			linkedInstead, v, n)
	}
	for i := range n {
		field[i] = byte(v>>(7*i)) & 0x7f
		if i < n-1 {
			field[i] |= 0x80
		}
	}
	return nil
}

// finish returns an error if the last relocation was the first one of a pair.
func (a *applier) finish() error {
	if a.uleb.pending {
		return a.r.damaged("the ULEB128 pair at offset %#x of %s has no second half", a.uleb.off,
			message.Printable(a.s.Name))
	}
	return nil
}

// errorf makes an error about the relocation of type typ at offset off.
func (a *applier) errorf(off uint64, typ uint32, format string, args ...any) error {
	return a.s.errorf("relocation at offset %#x, machine %s, type %d (%s) "+format,
		append([]any{off, a.s.f.Machine, typ, a.machine.name(typ)}, args...)...)
}

func (a *applier) damaged(off uint64, typ uint32, format string, args ...any) error {
	return a.errorf(off, typ, format+message.Rebuild, args...)
}

// linkedInstead is the advice if a relocation is correct but can't be applied.
const linkedInstead = "pass the linked file instead"

// signExtend returns the signed number in the low bits of v.
func signExtend(v uint64, bits uint8) uint64 {
	shift := 64 - bits
	return uint64(int64(v<<shift) >> shift)
}

// getField reads an unsigned number of len(b) bytes.
func getField(bo binary.ByteOrder, b []byte) (v uint64) {
	for i := range b {
		if bo == binary.BigEndian {
			v = v<<8 | uint64(b[i])
		} else {
			v |= uint64(b[i]) << (8 * i)
		}
	}
	return v
}

// putField writes the low bytes of v as a number of len(b) bytes.
func putField(bo binary.ByteOrder, b []byte, v uint64) {
	for i := range b {
		if bo == binary.BigEndian {
			b[len(b)-1-i] = byte(v >> (8 * i))
		} else {
			b[i] = byte(v >> (8 * i))
		}
	}
}
