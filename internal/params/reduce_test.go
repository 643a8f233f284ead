package params

import (
	"debug/elf"
	"testing"
)

// expressions are such as stand in the location lists of compilers, and some that don't.
var expressions = [][]byte{
	nil, {opReg0 + 5}, {opReg0 + 4}, {opLit0 + 3, opStackValue}, {opFbreg, 0x10},
	{opBreg0 + 5, 0x7f, opStackValue}, {opBreg0 + 5, 3}, {0xff},
	{opBreg0 + 4, 0, 0x23, 1, opStackValue}, {opBreg0 + 4, 0, 0x23, 1},
	{opAddr, 1, 2, 3, 4, 5, 6, 7, 8},
	{opAddr, 1, 2, 3, 4, opStackValue}, {opEntryValue, 1, opReg0 + 4, opStackValue},
	{opEntryValue, 1, opReg0 + 4}, {opGNUEntryValue, 2, opBreg0 + 5, 1, opStackValue},
	{opEntryValue, 1, opReg0 + 5, 0x23, 8, opStackValue}, {opGNUParameterRef, 1, 0, 0, 0},
	{opReg0 + 5, opPiece, 8, opReg0 + 4, opPiece, 8}, {opPiece, 8, opReg0 + 1, opPiece, 8},
	{opPiece, 4, opReg0 + 1, opPiece, 0x84, 0x01, opReg0 + 2, opPiece, 4}, {opImplicitValue, 1, 7},
	{opImplicitPointer, 1, 2, 3, 4, 5}, {opGNUImplicitPointer, 1, 2, 3, 4, 5, 6, 7, 8, 9},
	{opConstType, 0x85, 1, 2, 1, 2, opStackValue}, {0x92, 0x80, 1, 0x7f}, {opConst1U, 9, opStackValue},
	{opReg0 + 3, opPiece}, {opStackValue}, {opReg0 + 1, opStackValue}, {0x09, 0xff, 0x22},
}

var machines = []Machine{
	x86, arm, s390, riscv, i386, {ID: elf.EM_X86_64, AddrSize: 8, DWARF64: true},
}

// TestReduced asks what a location says of parameters of several sizes before and after it is
// reduced.
func TestReduced(t *testing.T) {
	shorter := 0
	for _, first := range expressions {
		for _, second := range expressions {
			for _, third := range expressions {
				for _, m := range machines {
					if reducedSaysTheSame(t, m, first, second, third) {
						shorter++
					}
				}
			}
		}
	}
	if shorter == 0 {
		t.Error("nothing was reduced")
	}
	if reducedSaysTheSame(t, x86) {
		t.Error("no expressions were reduced")
	}
}

// reducedSaysTheSame tells whether the list became shorter.
func reducedSaysTheSame(t *testing.T, m Machine, exprs ...[]byte) bool {
	t.Helper()
	short := m.Reduce(exprs)
	after := m
	after.DWARF64 = false
	for _, size := range []uint32{0, 1, 4, 8, 12, 16, 40, 200} {
		was, is := at(size, exprs...), at(size, short...)
		if got, want := after.locate(&is), m.locate(&was); got != want {
			t.Fatalf("%v, %d bytes: %x says %+v, reduced to %x it says %+v", m, size, exprs, want,
				short, got)
		}
	}
	return len(short) < len(exprs)
}

// Two links of one program give functions other addresses and places in sections.
func TestReducedHasNoPlaces(t *testing.T) {
	for _, pair := range [][2][]byte{
		{{opAddr, 1, 2, 3, 4, 5, 6, 7, 8}, {opAddr, 9, 2, 3, 4, 5, 6, 7, 8}},
		{{opGNUImplicitPointer, 1, 2, 3, 4, 0}, {opGNUImplicitPointer, 1, 9, 3, 4, 0}},
		{{opAddrx, 0x81, 2, opStackValue}, {opAddrx, 1, opStackValue}},
		{{opGNUParameterRef, 1, 2, 3, 4}, {opGNUParameterRef, 2, 2, 3, 4}},
		{{opConstType, 0x85, 1, 2, 1, 2}, {opConstType, 0x86, 0x81, 1, 2, 1, 2}},
		{{opConstType, 0x85, 1, 2, 1, 2, opStackValue}, {opConstType, 0x86, 1, 2, 1, 2, opStackValue}},
	} {
		a, b := x86.Reduce(pair[:1]), x86.Reduce(pair[1:])
		if string(a[0]) != string(b[0]) {
			t.Errorf("%x is reduced to %x, %x to %x", pair[0], a, pair[1], b)
		}
	}
}

func FuzzReduce(f *testing.F) {
	for i, e := range expressions {
		f.Add(e, expressions[(i*7+3)%len(expressions)], expressions[(i*5+1)%len(expressions)], uint8(i))
	}
	f.Fuzz(func(t *testing.T, first, second, third []byte, machine uint8) {
		reducedSaysTheSame(t, machines[int(machine)%len(machines)], first, second, third)
	})
}
