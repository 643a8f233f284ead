package reach

import "github.com/rules-btf/rules_btf/internal/programs/bpfobj"

// term is what is known about a value, for one outcome of each guard.
type term struct {
	kind  kind
	value uint64
}

type kind uint8

const (
	isNone     kind = iota // the instruction isn't reached
	isAnything             // not known
	isNumber               // the number in value
	isNonzero              // a nonzero type id, found by the guard with the number value
	isPointer              // an address that isn't 0, found by the guard with the number value
	isFrame                // an address in the stack frame, relative to r10
	isWild                 // unknown, but it may be an address in the stack frame
	isContext              // an address in the program's context, relative to its start
	isData                 // an address in read-only data: see settings
	isSetting              // known only to the verifier, or for each kernel: see settings
)

func number(v uint64) term { return term{isNumber, v} }

// operation is an instruction's opcode without its source bit, or one of the operations below.
type operation uint16

const (
	// notTaken plus a jump's opcode is the condition under which the jump isn't taken.
	notTaken operation = (iota + 1) << 8
	join               // what is known if the value is x or y
	within             // x for the outcomes for which y isn't none
	without            // x for the outcomes for which y is none
	foreign            // x as another function sees it; y is x
	zeros              // 0 if x is 0; y is x
	numbers            // the condition that x is a number; y is x
	loads              // plus a load's opcode: the data at the address x, with the offset y
)

// sourceBit says that an operand is a register.
const sourceBit = 0x08

// Operations: the upper bits of opcodes, from include/uapi/linux/bpf.h.
const (
	aluAdd = 0x00
	aluSub = 0x10
	aluMul = 0x20
	aluOr  = 0x40
	aluAnd = 0x50
	aluLsh = 0x60
	aluRsh = 0x70
	aluXor = 0xa0
	aluMov = 0xb0
	aluSar = 0xc0

	jumpAlways  = 0x00
	jumpEq      = 0x10
	jumpGt      = 0x20
	jumpGe      = 0x30
	jumpSet     = 0x40
	jumpNe      = 0x50
	jumpSgt     = 0x60
	jumpSge     = 0x70
	jumpCall    = 0x80
	jumpExit    = 0x90
	jumpLt      = 0xa0
	jumpLe      = 0xb0
	jumpSlt     = 0xc0
	jumpSle     = 0xd0
	jumpPerhaps = 0xe0 // may_goto

	mov64 operation = aluMov | 0x07
)

// shortcut returns the result if it is known without looking at terms.
func (op operation) shortcut(x, y ref) (ref, bool) {
	switch {
	case op == join && (y == none || x == y), op == without && y == none,
		op == within && y == anything:
		return x, true
	case op == join && x == none:
		return y, true
	case op != join && x == none, op != join && op != without && y == none:
		return none, true
	}
	return none, false
}

// do performs an operation on two terms, which may be settings. It isn't called if shortcut has a
// result.
func (d *diagram) do(op operation, x, y term) ref {
	code, class := uint8(op&0xf0), uint8(op&7)
	switch {
	case op >= loads:
		return d.constant(d.settings.load(uint8(op), x, y))
	case op == zeros:
		if guard, _, ok := d.settings.compare(jumpEq|bpfobj.ClassJMP, x, number(0)); ok {
			return d.branch(guard, anything, d.constant(number(0)))
		}
	case op >= join:
	case class == bpfobj.ClassALU || class == bpfobj.ClassALU64:
		if t, ok := d.settings.calculate(code, class == bpfobj.ClassALU64, x, y); ok {
			return d.constant(t)
		}
	default:
		if guard, sense, ok := d.settings.compare(uint8(op), x, y); ok {
			if sense == (op&notTaken != 0) {
				return d.branch(guard, anything, none)
			}
			return d.branch(guard, none, anything)
		}
	}
	return d.constant(op.do(x, y))
}

// do performs an operation on terms that aren't settings.
func (op operation) do(x, y term) term {
	switch op {
	case join:
		return x.join(y)
	case within:
		return x
	case without:
		return term{}
	case foreign:
		if x.inFrame() {
			return term{kind: isAnything}
		}
		return x
	case zeros:
		if x == number(0) {
			return x
		}
		return term{kind: isAnything}
	case numbers:
		if x.kind == isNumber {
			return term{kind: isAnything}
		}
		return term{}
	}
	code, class := uint8(op&0xf0), uint8(op&7)
	if class == bpfobj.ClassALU || class == bpfobj.ClassALU64 {
		return calculate(code, class == bpfobj.ClassALU64, x, y)
	}
	taken, known := compare(code, class == bpfobj.ClassJMP32, x, y)
	if known && taken == (op&notTaken != 0) {
		return term{}
	}
	return term{kind: isAnything}
}

func (t term) inFrame() bool { return t.kind == isFrame || t.kind == isWild }

// join returns what is known about a value that is t or u.
func (t term) join(u term) term {
	switch {
	case t == u:
		return t
	case t.inFrame() || u.inFrame():
		return term{kind: isWild}
	}
	return term{kind: isAnything}
}

// maxFrame is the size of a stack frame: MAX_BPF_STACK.
const maxFrame = 512

// calculate evaluates an ALU instruction.
func calculate(code uint8, wide bool, x, y term) term {
	bits := uint64(32)
	if wide {
		bits = 64
	}
	cut := func(v uint64) uint64 { return v << (64 - bits) >> (64 - bits) }
	isZero := func(t term) bool { return t.kind == isNumber && cut(t.value) == 0 }
	switch {
	case code == aluMov && (wide || y.kind == isNonzero):
		return y // an id has 32 bits
	case code == aluMov && y.kind == isNumber:
		return number(cut(y.value))
	case code == aluAdd && wide && x.kind == isFrame && y.kind == isNumber:
		if at := int64(x.value + y.value); at >= -maxFrame && at <= 0 {
			return term{isFrame, uint64(at)}
		}
		return term{kind: isWild}
	case code == aluAdd && wide && x.kind == isContext && y.kind == isNumber:
		return term{isContext, x.value + y.value}
	case x.inFrame() || y.inFrame():
		return term{kind: isWild}
	case code == aluAnd && (isZero(x) || isZero(y)):
		return number(0)
	case x.kind != isNumber || y.kind != isNumber:
		return term{kind: isAnything}
	}
	a, b := cut(x.value), cut(y.value)
	switch {
	case code == aluAdd:
		a += b
	case code == aluSub:
		a -= b
	case code == aluMul:
		a *= b
	case code == aluOr:
		a |= b
	case code == aluAnd:
		a &= b
	case code == aluXor:
		a ^= b
	case code == aluLsh && b < bits:
		a <<= b
	case code == aluRsh && b < bits:
		a >>= b
	case code == aluSar && b < bits:
		a = uint64(int64(a<<(64-bits)) >> (64 - bits) >> b)
	default:
		return term{kind: isAnything}
	}
	return number(cut(a))
}

// compare evaluates a conditional jump.
func compare(code uint8, narrow bool, x, y term) (taken, known bool) {
	if x.kind == isNonzero && y.kind == isNumber {
		switch code {
		case jumpNe, jumpGt:
			return true, y.value == 0
		case jumpEq, jumpLe:
			return false, y.value == 0
		case jumpGe:
			return true, y.value == 1
		case jumpLt:
			return false, y.value == 1
		}
	}
	if x.kind == isPointer && y == number(0) && !narrow && (code == jumpEq || code == jumpNe) {
		return code == jumpNe, true
	}
	if x.kind != isNumber || y.kind != isNumber {
		return false, false
	}
	a, b := x.value, y.value
	s, t := int64(a), int64(b)
	if narrow {
		a, b, s, t = uint64(uint32(a)), uint64(uint32(b)), int64(int32(a)), int64(int32(b))
	}
	switch code {
	case jumpEq:
		return a == b, true
	case jumpGt:
		return a > b, true
	case jumpGe:
		return a >= b, true
	case jumpSet:
		return a&b != 0, true
	case jumpNe:
		return a != b, true
	case jumpSgt:
		return s > t, true
	case jumpSge:
		return s >= t, true
	case jumpLt:
		return a < b, true
	case jumpLe:
		return a <= b, true
	case jumpSlt:
		return s < t, true
	case jumpSle:
		return s <= t, true
	}
	return false, false
}
