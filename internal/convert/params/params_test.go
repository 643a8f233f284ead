package params

import (
	"debug/elf"
	"encoding/binary"
	"reflect"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
)

var (
	x86    = Machine{ID: elf.EM_X86_64, Operands: operands(8)}
	arm64  = Machine{ID: elf.EM_AARCH64, Operands: operands(8)}
	arm    = Machine{ID: elf.EM_ARM, Operands: operands(4)}
	s390   = Machine{ID: elf.EM_S390, Operands: operands(8)}
	riscv  = Machine{ID: elf.EM_RISCV, Operands: operands(8)}
	mips32 = Machine{ID: elf.EM_MIPS, Operands: operands(4)}
	i386   = Machine{ID: elf.EM_386, Operands: operands(4)}
)

const (
	opAddr            = dwarf.OpAddr
	opBreg0           = dwarf.OpBreg0
	opConst1U         = dwarf.OpConst1u
	opConstx          = dwarf.OpConstx
	opEntryValue      = dwarf.OpEntryValue
	opFbreg           = dwarf.OpFbreg
	opGNUAddrIndex    = 0xfb
	opGNUConstIndex   = 0xfc
	opGNUParameterRef = dwarf.OpGNUParameterRef
	opImplicitValue   = dwarf.OpImplicitValue
	opLit0            = dwarf.OpLit0
	opPiece           = dwarf.OpPiece
	opReg0            = dwarf.OpReg0
	opStackValue      = dwarf.OpStackValue
)

func operands(addrSize int) dwarf.Operands {
	return dwarf.Operands{AddrSize: addrSize, RefSize: 4, Order: binary.LittleEndian}
}

// at returns a parameter with the given size and location expressions.
func at(size uint32, exprs ...[]byte) Param {
	return Param{HasLocation: true, Locations: exprs, Size: size, OriginIndex: NoOrigin}
}

// reg returns a parameter of the given size in the given DWARF register.
func reg(r byte, size uint32) Param { return at(size, []byte{opReg0 + r}) }

func stack(size uint32) Param { return at(size, []byte{opFbreg, 0x10}) }

func none(size uint32) Param { return Param{Size: size, OriginIndex: NoOrigin} }

func constant(size uint32) Param {
	return Param{Size: size, ConstValue: true,
		OriginIndex: NoOrigin}
}

func structure(p Param) Param { p.Struct = true; return p }

func packed(p Param) Param { p.Struct, p.PackedStruct = true, true; return p }

func origin(i int, p Param) Param { p.OriginIndex = i; return p }

func TestJudgeFlags(t *testing.T) {
	clang, changed := Options{Clang: true}, Options{Clang: true, NoCall: true}
	for _, c := range []struct {
		name string
		m    Machine
		o    Options
		ps   []Param
		want Flags
	}{
		{"no parameters", x86, Options{}, nil, 0},
		{"six registers and the stack", x86, Options{},
			[]Param{reg(5, 4), reg(4, 8), reg(1, 8), reg(2, 8), reg(8, 8), reg(9, 8), stack(8)}, 0},
		{"a constant where the stack is expected", x86, Options{},
			[]Param{reg(5, 4), reg(4, 8), reg(1, 8), reg(2, 8), reg(8, 8), reg(9, 8),
				at(8, []byte{opLit0 + 3, opStackValue})}, Optimized},
		{"an indexed constant where the stack is expected", x86, Options{},
			[]Param{reg(5, 4), reg(4, 8), reg(1, 8), reg(2, 8), reg(8, 8), reg(9, 8),
				at(8, []byte{opConstx, 3, opStackValue})}, Optimized},
		{"an indexed address of GNU where the stack is expected", x86, Options{},
			[]Param{reg(5, 4), reg(4, 8), reg(1, 8), reg(2, 8), reg(8, 8), reg(9, 8),
				at(8, []byte{opGNUAddrIndex, 3, opStackValue})}, Optimized},
		{"an indexed constant of GNU where the stack is expected", x86, Options{},
			[]Param{reg(5, 4), reg(4, 8), reg(1, 8), reg(2, 8), reg(8, 8), reg(9, 8),
				at(8, []byte{opGNUConstIndex, 3, opStackValue})}, Optimized},
		{"second register for the first parameter", x86, Options{}, []Param{reg(4, 4)},
			UnexpectedRegister},
		{"stack where a register is expected", x86, Options{}, []Param{stack(4)}, Optimized},
		{"register beyond 31", x86, Options{}, []Param{at(4, []byte{0x90, 0x11})}, Optimized},
		{"no location", x86, Options{}, []Param{reg(5, 4), none(4)}, Optimized},
		{"removed without a trace: the next one moves up", x86, Options{}, []Param{none(4), reg(5, 4)},
			Optimized | UnexpectedRegister},
		{"constant value", x86, Options{}, []Param{constant(4), reg(4, 8)}, Optimized},
		{"same order as the origin", x86, Options{}, []Param{origin(0, reg(5, 4)), origin(1, reg(4, 4))},
			0},
		{"removed, written last", x86, Options{}, []Param{origin(1, reg(5, 4)), origin(0, none(4))},
			Optimized | Reordered},
		{"struct of two words", x86, Options{}, []Param{
			structure(at(16, []byte{opReg0 + 5, opPiece, 8, opReg0 + 4, opPiece, 8})), reg(1, 4)}, 0},
		{"a struct by value makes unexpected registers acceptable", x86, Options{},
			[]Param{reg(17, 8), structure(reg(5, 8))}, 0},
		{"number of two words", x86, Options{}, []Param{at(16, []byte{opReg0 + 5, opPiece, 8, opReg0 + 4,
			opPiece, 8}), reg(1, 4)}, 0},
		{"floating point register", x86, Options{}, []Param{reg(17, 8)}, UnexpectedRegister},
		{"large struct on the stack takes no register", x86, Options{}, []Param{stack(24), reg(5, 4)},
			Optimized},
		{"computed from a register", x86, Options{}, []Param{at(4, []byte{opBreg0 + 5, 0, opStackValue})},
			0},
		{"in memory at a register", x86, Options{}, []Param{at(4, []byte{opBreg0 + 5, 0})}, Optimized},
		{"computed at length", x86, Options{}, []Param{at(4, []byte{opBreg0 + 5, 0, 0x23, 1,
			opStackValue})}, 0},
		{"entry value in a later range", x86, Options{},
			[]Param{at(4, []byte{opFbreg, 0}, []byte{opEntryValue, 1, opReg0 + 5, opStackValue})}, 0},
		{"another register in a later range", x86, Options{},
			[]Param{at(4, []byte{opReg0 + 5}, []byte{opReg0 + 3})}, 0},
		{"first range empty", x86, Options{}, []Param{at(4, nil, []byte{opReg0 + 5})}, Optimized},
		{"empty list", x86, Options{}, []Param{at(4)}, Optimized},
		{"packed struct in registers", x86, Options{}, []Param{packed(reg(5, 8))}, 0},
		{"packed struct after six", x86, Options{},
			[]Param{reg(5, 4), reg(4, 8), reg(1, 8), reg(2, 8), reg(8, 8), reg(9, 8),
				packed(stack(9))}, UncertainLocation},

		{"arm64", arm64, Options{}, []Param{reg(0, 8), reg(1, 8), reg(2, 8), reg(3, 8), reg(4, 8),
			reg(5, 8), reg(6, 8), reg(7, 8), stack(8)}, 0},
		{"arm64, wrong", arm64, Options{}, []Param{reg(1, 8)}, UnexpectedRegister},
		{"arm64, even pair", arm64, Options{}, []Param{reg(0, 4), at(16,
			[]byte{opReg0 + 2, opPiece, 8, opReg0 + 3, opPiece, 8}), reg(4, 4)}, 0},
		{"arm, fifth on the stack", arm, Options{},
			[]Param{reg(0, 4), reg(1, 4), reg(2, 4), reg(3, 4), stack(4)}, 0},
		{"arm, an address where the stack is expected", arm, Options{},
			[]Param{reg(0, 4), reg(1, 4), reg(2, 4), reg(3, 4), stack(4),
				at(4, []byte{opAddr, 0x20, 0x7f, 0xc0, 0xc0, opStackValue})}, Optimized},
		{"arm, a variable where the stack is expected", arm, Options{},
			[]Param{reg(0, 4), reg(1, 4), reg(2, 4), reg(3, 4),
				at(4, []byte{opAddr, 0x20, 0x7f, 0xc0, 0xc0})}, 0},
		{"arm, even pair", arm, Options{}, []Param{reg(0, 4), at(8,
			[]byte{opReg0 + 2, opPiece, 4, opReg0 + 3, opPiece, 4})}, 0},
		{"arm, odd pair", arm, Options{}, []Param{reg(0, 4), at(8,
			[]byte{opReg0 + 1, opPiece, 4, opReg0 + 2, opPiece, 4})}, UnexpectedRegister},
		{"s390", s390, Options{}, []Param{reg(2, 4), reg(3, 8), reg(4, 8), reg(5, 8), reg(6, 8),
			stack(8)}, 0},
		{"s390, wrong", s390, Options{}, []Param{reg(3, 4)}, UnexpectedRegister},
		{"s390, large values by reference", s390, Options{},
			[]Param{at(16, []byte{opBreg0 + 2, 0, 0x06, opStackValue}), reg(3, 4)}, 0},
		{"riscv knows the number of registers only", riscv, Options{}, []Param{reg(20, 8)}, 0},
		{"riscv, stack where a register is expected", riscv, Options{}, []Param{stack(8)}, Optimized},
		{"mips32", mips32, Options{}, []Param{reg(4, 4), reg(5, 4)}, 0},
		{"machine without rules", i386, Options{}, []Param{reg(4, 4), stack(4)}, 0},
		{"machine without rules, constant", i386, Options{},
			[]Param{at(4, []byte{opConst1U, 9, opStackValue})}, Optimized},
		{"machine without rules, no location", i386, Options{}, []Param{none(4)}, Optimized},

		{"clang, as written", x86, clang, []Param{reg(5, 4), stack(4), reg(1, 8)}, 0},
		{"clang, wrong", x86, clang, []Param{reg(5, 4), reg(1, 8)}, UnexpectedRegister},
		{"clang, second half of a pair", x86, clang,
			[]Param{at(16, []byte{opPiece, 8, opReg0 + 4, opPiece, 8}), reg(1, 8)}, 0},
		{"clang, no location", x86, clang, []Param{reg(5, 4), none(4)}, Optimized},
		{"clang, constant", x86, clang, []Param{constant(4)}, Optimized},
		{"clang without a map of registers", riscv, clang, []Param{reg(10, 8), reg(11, 8)}, 0},
		{"clang, changed", x86, changed, []Param{none(4), reg(5, 8)}, Optimized | UnexpectedRegister},
	} {
		if got := Judge(c.m, c.o, c.ps).Flags; got != c.want {
			t.Errorf("%s: flags %04b, want %04b", c.name, got, c.want)
		}
	}
}

func TestMovedBesideStruct(t *testing.T) {
	ps := []Param{origin(1, reg(4, 4)), origin(0, structure(at(8, []byte{opReg0 + 5, opPiece, 4})))}
	for _, c := range []struct {
		o    Options
		want Flags
	}{
		{Options{}, Reordered},
		{Options{Clone: true}, Reordered},
		{Options{Clone: true, TrueSignature: true}, Reordered | UnexpectedRegister},
		{Options{TrueSignature: true}, Reordered},
	} {
		if got := Judge(x86, c.o, ps).Flags; got != c.want {
			t.Errorf("%+v: flags %04b, want %04b", c.o, got, c.want)
		}
	}
}

func TestJudgeTrueSignature(t *testing.T) {
	clang := Options{Clang: true, NoCall: true, TrueSignature: true}
	member := func(p Param, offsets ...uint32) Param {
		p.Struct = true
		p.MemberAt = func(offset uint32) bool {
			for _, o := range offsets {
				if o == offset {
					return true
				}
			}
			return false
		}
		return p
	}
	low := at(16, []byte{opReg0 + 5, opPiece, 8})
	high := at(16, []byte{opPiece, 8, opReg0 + 5, opPiece, 8})
	both := at(16, []byte{opReg0 + 5, opPiece, 8, opReg0 + 4, opPiece, 8})
	for _, c := range []struct {
		name string
		o    Options
		ps   []Param
		want Verdict
	}{
		{"gcc drops what is reordered", Options{TrueSignature: true},
			[]Param{origin(1, reg(5, 4)), origin(0, none(4))},
			Verdict{Flags: Optimized | Reordered, Removed: []int{1}}},
		{"gcc drops what is last", Options{TrueSignature: true, Clone: true},
			[]Param{origin(0, reg(5, 4)), origin(1, none(4))},
			Verdict{Flags: Optimized, Removed: []int{1}}},
		{"gcc drops what only the caller knows", Options{TrueSignature: true, Clone: true},
			[]Param{reg(5, 4), at(4, []byte{opGNUParameterRef, 1, 2, 3, 4,
				opStackValue})}, Verdict{Flags: Optimized, Removed: []int{1}}},
		{"gcc keeps what is in its place", Options{TrueSignature: true, Clone: true},
			[]Param{origin(0, none(4)), origin(1, reg(4, 4))},
			Verdict{Flags: Optimized}},
		{"gcc keeps what is unused in a function that is no clone", Options{TrueSignature: true},
			[]Param{reg(5, 4), none(4)},
			Verdict{Flags: Optimized}},
		{"gcc keeps large values on the stack", Options{TrueSignature: true, Clone: true},
			[]Param{origin(1, structure(stack(24))),
				origin(0, none(4))}, Verdict{Flags: Optimized | Reordered, Removed: []int{1}}},
		{"clang drops what has no location", clang, []Param{none(4), reg(5, 8), none(4)},
			Verdict{Flags: Optimized, Removed: []int{0, 2}}},
		{"clang drops constants", clang, []Param{at(4, []byte{opLit0 + 3, opStackValue}), reg(5, 8)},
			Verdict{Flags: Optimized, Removed: []int{0}}},
		{"an unused parameter that still has its place", clang, []Param{none(4), reg(4, 8)},
			Verdict{Flags: Optimized}},
		{"struct kept", clang, []Param{member(both, 0, 8), reg(1, 4)}, Verdict{}},
		{"struct kept though half is unused", clang, []Param{member(low, 0, 8), reg(1, 4)}, Verdict{}},
		{"struct replaced by its first member", clang, []Param{member(low, 0, 8), reg(4, 4)},
			Verdict{Members: []Member{{0, 0}}}},
		{"struct replaced by its second member", clang, []Param{member(high, 0, 8), reg(4, 4)},
			Verdict{Members: []Member{{0, 8}}}},
		{"no member there", clang, []Param{member(high, 0, 4), reg(1, 4)}, Verdict{}},
		{"not on the stack without a reason", clang, []Param{stack(4)},
			Verdict{Flags: UnexpectedRegister}},
	} {
		if got := Judge(x86, c.o, c.ps); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func FuzzJudge(f *testing.F) {
	f.Add([]byte{opReg0 + 5}, []byte{opEntryValue, 1, opReg0}, uint16(elf.EM_X86_64), uint32(8), true,
		true)
	f.Add([]byte{opReg0 + 5, opPiece, 8, opReg0 + 4, opPiece, 8}, []byte{0xa0}, uint16(elf.EM_ARM),
		uint32(16), false, false)
	f.Add([]byte{opPiece, 0xff, 0xff, 0xff, 0xff, 0x0f}, []byte{0x9e, 9}, uint16(elf.EM_S390),
		uint32(1<<31), true, false)
	f.Fuzz(func(t *testing.T, first, second []byte, id uint16, size uint32, clang, nocall bool) {
		p := at(size, first, second)
		p.MemberAt = func(uint32) bool { return true }
		m := Machine{ID: elf.Machine(id), Operands: operands(8)}
		v := Judge(m, Options{Clang: clang, NoCall: nocall, Clone: !clang, TrueSignature: true},
			[]Param{p, p, none(size)})
		if !v.Flags.Has(Optimized) {
			t.Errorf("a parameter without a location is not seen: %+v", v)
		}
		for _, i := range v.Removed {
			if i < 0 || i > 2 {
				t.Errorf("parameter %d of 3 removed", i)
			}
		}
	})
}

// TestSettledLocations: if the first expression settles a location (Settles), later expressions
// must not change the result.
func TestSettledLocations(t *testing.T) {
	exprs := [][]byte{
		nil, {opReg0 + 5}, {opReg0 + 4}, {opLit0 + 3, opStackValue}, {opFbreg, 0x10}, {opBreg0 + 5, 0,
			opStackValue}, {0xff},
		{opEntryValue, 1, opReg0 + 4, opStackValue}, {opEntryValue, 1, opReg0 + 4}, {opGNUParameterRef, 1,
			0, 0, 0},
		{opReg0 + 5, opPiece, 8, opReg0 + 4, opPiece, 8}, {opPiece, 8, opReg0 + 1, opPiece,
			8}, {opImplicitValue, 1, 7},
	}
	settled := 0
	for _, m := range []Machine{x86, arm, s390, riscv, i386} {
		for _, size := range []uint32{0, 1, 4, 8, 12, 16, 40} {
			for _, first := range exprs {
				if !m.Settles(first, size) {
					continue
				}
				settled++
				alone := at(size, first)
				for _, second := range exprs {
					for _, third := range exprs {
						all := at(size, first, second, third)
						if got, want := m.locate(&alone), m.locate(&all); got != want {
							t.Errorf("%v, %d bytes: %x followed by %x and %x: %+v; alone %+v", m.ID, size, first, second,
								third, want, got)
						}
					}
				}
			}
		}
	}
	if settled == 0 {
		t.Error("no expression settles a location")
	}
}
