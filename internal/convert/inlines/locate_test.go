package inlines

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
)

const (
	opAddr          = dwarf.OpAddr
	opAddrx         = dwarf.OpAddrx
	opBreg0         = dwarf.OpBreg0
	opBregx         = dwarf.OpBregx
	opCallFrameCFA  = dwarf.OpCallFrameCFA
	opConst1s       = dwarf.OpConst1s
	opConst2s       = dwarf.OpConst2s
	opConst2u       = dwarf.OpConst2u
	opConst4u       = dwarf.OpConst4u
	opConsts        = dwarf.OpConsts
	opConstu        = dwarf.OpConstu
	opEntryValue    = dwarf.OpEntryValue
	opFbreg         = dwarf.OpFbreg
	opGNUAddrIndex  = 0xfb
	opGNUEntryValue = 0xf3
	opImplicitPtr   = dwarf.OpImplicitPointer
	opImplicitValue = dwarf.OpImplicitValue
	opLit0          = dwarf.OpLit0
	opMinus         = dwarf.OpMinus
	opPiece         = dwarf.OpPiece
	opPlus          = dwarf.OpPlus
	opPlusUconst    = dwarf.OpPlusUconst
	opReg0          = dwarf.OpReg0
	opRegx          = dwarf.OpRegx
	opStackValue    = dwarf.OpStackValue
)

func machine(order binary.ByteOrder, addrSize int) *Machine {
	o := dwarf.Operands{AddrSize: addrSize, RefSize: 4, Order: order}
	return &Machine{Operands: o, Addrx: func(n uint64) (uint64, bool) {
		return 0xffffffff81000000 + n, n < 8
	}}
}

func ofSize(size uint32) Parameter {
	return Parameter{size, func() bool { return true }}
}

func unsigned(size uint32) Parameter {
	return Parameter{size, func() bool { return false }}
}

func (l Location) text() string {
	return fmt.Sprintf("size %d flags %#x %x", l.Size, l.Flags, l.Values[:l.Count])
}

// TestLongExpressions: only short expressions are evaluated, so many sites that share a long one
// cost no more than others.
func TestLongExpressions(t *testing.T) {
	m := machine(binary.LittleEndian, 8)
	for terms, want := range map[int]Reason{10: Known, 250: Known, 300: Computed, 100_000: Computed} {
		expr := append([]byte{opLit0}, bytes.Repeat([]byte{opLit0, opPlus}, terms)...)
		_, why := m.Locate(append(expr, opStackValue), ofSize(8), Frame{})
		if why != want {
			t.Errorf("%d terms: %v, want %v", terms, why, want)
		}
		if NeedsFrame(append(expr, opFbreg, 0)) != (want == Known) {
			t.Errorf("%d terms: it needs a frame, or not, unlike an expression that is evaluated", terms)
		}
		expr[0] = dwarf.OpCallFrameCFA
		if f := m.FrameOf(expr); f.known != (want == Known) {
			t.Errorf("%d terms: the frame base is known: %v", terms, f.known)
		}
	}
}

// TestLocate has expressions of each form.
func TestLocate(t *testing.T) {
	cfa := Frame{true, btf.LocFrameBase, 0}
	for _, c := range []struct {
		name  string
		expr  []byte
		p     Parameter
		frame Frame
		want  string // the location or the reason
	}{
		{"register", []byte{opReg0 + 5}, ofSize(4), cfa, "size 4 flags 0x8 [5]"},
		{"a register with a high number", []byte{opRegx, 0xa0, 1}, ofSize(8), cfa,
			"size 8 flags 0x8 [a0]"},
		{"two registers", []byte{opReg0 + 5, opPiece, 8, opReg0 + 4, opPiece, 8}, ofSize(16), cfa,
			"size 16 flags 0x8 [5 4]"},
		{"the second register is used in part", []byte{opReg0 + 5, opPiece, 8, opReg0 + 4, opPiece, 4},
			ofSize(12), cfa, "size 12 flags 0x8 [5 4]"},
		{"a part is missing", []byte{opReg0 + 5, opPiece, 8, opPiece, 8}, ofSize(16), cfa, "in pieces"},
		{"the parameter is larger", []byte{opReg0 + 5, opPiece, 8, opReg0 + 4, opPiece, 4},
			ofSize(16), cfa, "in pieces"},
		{"small pieces", []byte{opReg0 + 5, opPiece, 4, opReg0 + 4, opPiece, 4}, ofSize(8), cfa,
			"in pieces"},
		{"three pieces", []byte{opReg0, opPiece, 8, opReg0 + 1, opPiece, 4, opReg0 + 2, opPiece, 4},
			ofSize(16), cfa, "in pieces"},
		{"nothing, then a register", []byte{opPiece, 8, opReg0, opPiece, 8}, ofSize(16), cfa,
			"in pieces"},
		{"one piece", []byte{opReg0 + 5, opPiece, 8}, ofSize(8), cfa, "size 8 flags 0x8 [5]"},
		{"one piece, too small", []byte{opReg0 + 5, opPiece, 4}, ofSize(8), cfa, "in pieces"},
		{"one piece, too large", []byte{opReg0 + 5, opPiece, 8}, ofSize(4), cfa, "in pieces"},
		{"a value in a larger piece", []byte{opBreg0 + 7, 1, opStackValue, opPiece, 8}, ofSize(4), cfa,
			"in pieces"},
		{"one piece of memory", []byte{opFbreg, 0x70, opPiece, 16}, ofSize(16), cfa,
			"size 16 flags 0x39 [ffffffff fffffff0]"},
		{"one piece of a constant", []byte{opLit0 + 3, opStackValue, opPiece, 4}, ofSize(4), cfa,
			"size 4 flags 0x2 [3]"},
		{"pieces of memory", []byte{opBreg0 + 3, 8, opPiece, 8, opBreg0 + 3, 16, opPiece, 8}, ofSize(16),
			cfa, "in pieces"},
		{"one piece and another", []byte{opLit0, opStackValue, opPiece, 4, opPiece, 4}, ofSize(4), cfa,
			"in pieces"},
		{"memory", []byte{opBreg0 + 7, 0x10}, ofSize(8), cfa, "size 8 flags 0x39 [7 10]"},
		{"memory below", []byte{opBreg0 + 7, 0x70}, ofSize(8), cfa, "size 8 flags 0x39 [7 fffffff0]"},
		{"memory at a register", []byte{opBreg0 + 7, 0}, ofSize(8), cfa, "size 8 flags 0x18 [7]"},
		{"memory far away", []byte{opBregx, 7, 0x80, 0x80, 0x80, 0x80, 0x10}, ofSize(8), cfa,
			"size 8 flags 0x39 [7 0 1]"},
		{"a sum", []byte{opBreg0 + 7, 0x10, opStackValue}, ofSize(8), cfa, "size 8 flags 0x29 [7 10]"},
		{"a sum with 0", []byte{opBreg0 + 7, 0, opStackValue}, ofSize(8), cfa, "size 8 flags 0x8 [7]"},
		{"a sum of three", []byte{opBreg0 + 7, 1, opPlusUconst, 3, opStackValue}, ofSize(8), cfa,
			"size 8 flags 0x29 [7 4]"},
		{"a difference", []byte{opBreg0 + 7, 1, opLit0 + 3, opMinus, opStackValue}, ofSize(8), cfa,
			"size 8 flags 0x29 [7 fffffffe]"},
		{"a sum that is 0", []byte{opBreg0 + 7, 1, opConsts, 0x7f, opPlus, opStackValue}, ofSize(8), cfa,
			"size 8 flags 0x8 [7]"},
		{"memory at a sum", []byte{opBreg0 + 7, 1, opPlusUconst, 3}, ofSize(8), cfa,
			"size 8 flags 0x39 [7 4]"},
		{"a constant and a sum", []byte{opLit0 + 7, opBreg0 + 1, 0xc4, 0, opPlus, opStackValue},
			ofSize(8), cfa, "size 8 flags 0x29 [1 4b]"},
		{"constants", []byte{opLit0, opLit0 + 6, opMinus, opStackValue}, ofSize(4), cfa,
			"size 4 flags 0x3 [fffffffa]"},
		{"a constant minus a register", []byte{opLit0, opBreg0 + 1, 0, opMinus, opStackValue}, ofSize(8),
			cfa, "value must be computed"},
		{"two registers", []byte{opBreg0, 0, opBreg0 + 1, 0, opPlus, opStackValue}, ofSize(8), cfa,
			"value must be computed"},
		{"a sum with the frame", []byte{opLit0 + 8, opFbreg, 8, opPlus, opStackValue}, ofSize(8), cfa,
			"size 8 flags 0x29 [ffffffff 10]"},
		{"an address and a constant", []byte{opAddrx, 3, opPlusUconst, 4, opStackValue}, ofSize(8), cfa,
			"size 8 flags 0x6 [81000007 ffffffff]"},
		{"two values", []byte{opLit0, opLit0, opStackValue}, ofSize(8), cfa, "value must be computed"},
		{"many values", append(bytes.Repeat([]byte{opLit0}, 99), opStackValue), ofSize(8), cfa,
			"value must be computed"},
		{"a product", []byte{opBreg0 + 7, 1, opLit0 + 3, 0x1e, opStackValue}, ofSize(8), cfa,
			"value must be computed"},
		{"a sum that is cut off", []byte{opBreg0 + 7, 1, opPlusUconst}, ofSize(8), cfa,
			"value must be computed"},
		{"a sum and more", []byte{opBreg0 + 7, 1, opLit0, opPlus, 0x06, opStackValue}, ofSize(8), cfa,
			"value must be computed"},
		{"a pointer that is followed", []byte{opBreg0 + 7, 1, 0x06}, ofSize(8), cfa,
			"value must be computed"},
		{"a sum in pieces", []byte{opBreg0 + 7, 1, opStackValue, opPiece, 8}, ofSize(16), cfa,
			"in pieces"},
		{"frame", []byte{opFbreg, 0x70}, ofSize(8), cfa, "size 8 flags 0x39 [ffffffff fffffff0]"},
		{"address of the frame", []byte{opFbreg, 0, opStackValue}, ofSize(8), cfa,
			"size 8 flags 0x8 [ffffffff]"},
		{"frame at a register", []byte{opFbreg, 0x70}, ofSize(8), Frame{true, 6, 8},
			"size 8 flags 0x39 [6 fffffff8]"},
		{"unknown frame", []byte{opFbreg, 0x70}, ofSize(8), Frame{}, "relative to an unknown frame base"},
		{"literal", []byte{opLit0 + 9, opStackValue}, ofSize(4), cfa, "size 4 flags 0x2 [9]"},
		{"literal without stack_value", []byte{opLit0 + 9}, ofSize(4), cfa, "value must be computed"},
		{"negative", []byte{opConsts, 0x7f, opStackValue}, ofSize(4), cfa, "size 4 flags 0x3 [ffffffff]"},
		{"negative, in two bytes", []byte{opConsts, 0x7f, opStackValue}, ofSize(2), cfa,
			"size 2 flags 0x3 [ffffffff]"},
		{"unsigned, in two bytes", []byte{opConst1s, 0xff, opStackValue}, unsigned(2), cfa,
			"size 2 flags 0x2 [ffff]"},
		{"unsigned and wide", []byte{opConstu, 0xff, 1, opStackValue}, unsigned(8), cfa,
			"size 8 flags 0x2 [ff 0]"},
		{"negative and wide", []byte{opConst2s, 0xfe, 0xff, opStackValue}, ofSize(8), cfa,
			"size 8 flags 0x3 [fffffffe ffffffff]"},
		{"a constant of 16 bytes", []byte{opLit0, opStackValue}, ofSize(16), cfa, "too large"},
		{"bytes", []byte{opImplicitValue, 2, 1, 2}, unsigned(2), cfa, "size 2 flags 0x2 [201]"},
		{"not enough bytes", []byte{opImplicitValue, 2, 1, 2}, unsigned(4), cfa, "in pieces"},
		{"too many bytes", append([]byte{opImplicitValue, 16}, make([]byte, 16)...), unsigned(16), cfa,
			"too large"},
		{"address", append([]byte{opAddr}, 0, 0, 0, 0x81, 0xff, 0xff, 0xff, 0xff, opStackValue),
			ofSize(8), cfa, "size 8 flags 0x6 [81000000 ffffffff]"},
		{"address by index", []byte{opAddrx, 3, opStackValue}, ofSize(8), cfa,
			"size 8 flags 0x6 [81000003 ffffffff]"},
		{"address by GNU index", []byte{opGNUAddrIndex, 3, opStackValue}, ofSize(8), cfa,
			"size 8 flags 0x6 [81000003 ffffffff]"},
		{"no such index", []byte{opAddrx, 9, opStackValue}, ofSize(8), cfa, "value must be computed"},
		{"in memory at an address", []byte{opAddrx, 3}, ofSize(8), cfa, "in memory at a fixed address"},
		{"entry value", []byte{opEntryValue, 1, opReg0, opStackValue}, ofSize(8), cfa,
			"only the value at the caller's entry"},
		{"entry value of gcc", []byte{opGNUEntryValue, 1, opReg0, opStackValue}, ofSize(8), cfa,
			"only the value at the caller's entry"},
		{"implicit pointer", []byte{opImplicitPtr, 0, 0, 0, 0, 0}, ofSize(8), cfa,
			"pointer to a value that is not in memory"},
		{"empty", nil, ofSize(8), cfa, "no value at this address"},
		{"unknown operation", []byte{0xff}, ofSize(8), cfa, "value must be computed"},
		{"cut off", []byte{opBreg0 + 1, 0x80}, ofSize(8), cfa, "value must be computed"},
		{"large", []byte{opReg0}, ofSize(17), cfa, "too large"},
		{"without a size", []byte{opReg0}, ofSize(0), cfa, "type without a size"},
	} {
		l, why := machine(binary.LittleEndian, 8).Locate(c.expr, c.p, c.frame)
		got := l.text()
		if why != Known {
			got = why.String()
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestMachines: numbers have the machine's byte order and address size. Addresses in a relocatable
// file are not known.
func TestMachines(t *testing.T) {
	big := machine(binary.BigEndian, 4)
	l, _ := big.Locate([]byte{opConst2u, 1, 2, opStackValue}, ofSize(4), Frame{})
	if l.Values[0] != 0x102 {
		t.Errorf("a big-endian operand: %s", l.text())
	}
	if l, _ := big.Block([]byte{1, 2}, ofSize(2)); l.Values[0] != 0x102 {
		t.Errorf("a big-endian value: %s", l.text())
	}
	l, why := big.Locate([]byte{opReg0 + 2, opPiece, 4, opReg0 + 3, opPiece, 4}, ofSize(8), Frame{})
	if why != Known || l.Values != [3]uint32{2, 3} {
		t.Errorf("two registers of 4 bytes: %s, %v", l.text(), why)
	}
	l, why = big.Locate([]byte{opReg0 + 2, opPiece, 4, opReg0 + 3, opPiece, 2}, ofSize(6), Frame{})
	if why != Pieces {
		t.Errorf("a part of a big-endian register: %s, %v", l.text(), why)
	}
	for _, expr := range [][]byte{{opLit0, opStackValue}, {opBreg0, 0, opStackValue},
		{opAddr, 0, 0, 0, 0, opStackValue}} {
		if _, why := big.Locate(expr, ofSize(8), Frame{}); why != Computed {
			t.Errorf("a value that is larger than an address: %x: %v", expr, why)
		}
	}
	l, why = big.Locate([]byte{opAddr, 0, 1, 0, 0, opStackValue}, ofSize(4), Frame{})
	if why != Known || l.Values != [3]uint32{0x10000} {
		t.Errorf("an address of 4 bytes: %s, %v", l.text(), why)
	}
	l, why = big.Locate([]byte{opBreg0 + 3, 0, opConst4u, 0xff, 0xff, 0xff, 0xfe, opPlus}, ofSize(4),
		Frame{})
	if why != Known || l.Values != [3]uint32{3, 0xfffffffe} || l.Count != 2 {
		t.Errorf("a sum that wraps around: %s, %v", l.text(), why)
	}
	big.Relocatable = true
	_, why = big.Locate([]byte{opAddr, 0, 1, 0, 0, opStackValue}, ofSize(4), Frame{})
	if why != Unplaced {
		t.Errorf("an address in a module: %v", why)
	}
}

func TestFrame(t *testing.T) {
	for _, c := range []struct {
		expr []byte
		want Frame
	}{
		{[]byte{opCallFrameCFA}, Frame{true, btf.LocFrameBase, 0}},
		{[]byte{opReg0 + 6}, Frame{true, 6, 0}},
		{[]byte{opRegx, 40}, Frame{true, 40, 0}},
		{[]byte{opBreg0 + 6, 0x10}, Frame{true, 6, 16}},
		{[]byte{opBregx, 40, 0x70}, Frame{true, 40, -16}},
		{[]byte{opCallFrameCFA, opConsts, 0x60, opPlus}, Frame{true, btf.LocFrameBase, -32}},
		{[]byte{opBreg0 + 6, 8, opPlusUconst, 8}, Frame{true, 6, 16}},
		{[]byte{opCallFrameCFA, 0x06}, Frame{}},
		{[]byte{opBreg0 + 6}, Frame{}},
		{[]byte{opLit0}, Frame{}},
		{nil, Frame{}},
	} {
		if got := machine(binary.LittleEndian, 8).FrameOf(c.expr); got != c.want {
			t.Errorf("%x: %+v, want %+v", c.expr, got, c.want)
		}
	}
}

// FuzzLocate: each location is valid by the kernel's rules.
func FuzzLocate(f *testing.F) {
	f.Add([]byte{opReg0 + 5, opPiece, 8, opReg0 + 4, opPiece, 8}, uint32(16), true, []byte{opReg0})
	f.Add([]byte{opFbreg, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}, uint32(8), false, []byte{opBreg0, 1})
	f.Add([]byte{opConstu, 0xff, 1, opStackValue}, uint32(3), true, []byte{})
	f.Add([]byte{opImplicitValue, 3, 1, 2, 3}, uint32(8), false, []byte{opCallFrameCFA})
	f.Add([]byte{opAddrx, 1, opStackValue}, uint32(8), false, []byte{opCallFrameCFA})
	f.Fuzz(func(t *testing.T, expr []byte, size uint32, small bool, frame []byte) {
		m := machine(binary.LittleEndian, 8)
		if small {
			m = machine(binary.BigEndian, 4)
		}
		l, why := m.Locate(expr, ofSize(size), m.FrameOf(frame))
		if why != Known {
			if why.OfSite() || why.String() == "" {
				t.Fatalf("%x: reason %d", expr, why)
			}
			return
		}
		b := btf.NewBuilder(binary.LittleEndian, nil, nil)
		b.LocParam(l.Size, l.Flags, l.Values[:l.Count]...)
		for _, v := range verify.Check(b.Finish(), verify.Options{}) {
			t.Errorf("%x: %s: %v", expr, l.text(), v)
		}
	})
}

// TestJoin: joined sites are the same in any order.
func TestJoin(t *testing.T) {
	make := func(values ...uint32) *Sites {
		s := &Sites{}
		for i, v := range values {
			l := Location{Size: 4, Flags: btf.LocReg}
			l.set(v)
			p := s.AddProto([]uint32{s.AddLocation(l), 0})
			s.Units = append(s.Units, UnitSites{int(v), nil, []Site{{Proto: p, Offset: uint32(i)}}})
		}
		s.Lost[NoValue] = uint64(len(values))
		return s
	}
	describe := func(s *Sites) map[string]int {
		all := map[string]int{}
		for _, u := range s.Units {
			site := u.List[0]
			text := fmt.Sprint(u.Unit, site.Offset)
			for _, p := range s.Proto(site.Proto) {
				if p == 0 {
					text += " ?"
				} else {
					text += " " + s.Locations[p-1].text()
				}
			}
			all[text]++
		}
		return all
	}
	var a, b Sites
	for _, s := range []*Sites{make(1, 2, 3), make(3, 4), make()} {
		a.Join(s)
	}
	for _, s := range []*Sites{make(), make(3, 4), make(1, 2, 3)} {
		b.Join(s)
	}
	if x, y := fmt.Sprint(describe(&a)), fmt.Sprint(describe(&b)); x != y || a.Len() != 5 {
		t.Errorf("%s\nin another order %s", x, y)
	}
	if len(a.Locations) != 4 || a.Protos() != 4 || a.Lost[NoValue] != 5 {
		t.Errorf("%d locations, %d protos, %d lost", len(a.Locations), a.Protos(), a.Lost[NoValue])
	}
}
