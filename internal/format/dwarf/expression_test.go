package dwarf

import (
	"encoding/binary"
	"fmt"
	"testing"
)

// TestNextOperation has operands of each kind, and operands that are cut off.
func TestNextOperation(t *testing.T) {
	little := &Operands{AddrSize: 8, RefSize: 4, Order: binary.LittleEndian}
	big := &Operands{AddrSize: 4, RefSize: 8, Order: binary.BigEndian}
	for _, c := range []struct {
		name string
		o    *Operands
		expr []byte
		want string // code, numbers, block, rest; empty if not ok
	}{
		{"empty", little, nil, ""},
		{"addr", little, []byte{OpAddr, 1, 2, 3, 4, 5, 6, 7, 0, 9},
			"03 [7060504030201 0] [] [9]"},
		{"addr, big-endian", big, []byte{OpAddr, 1, 2, 3, 4, 5}, "03 [1020304 0] [] [5]"},
		{"addr, cut off", little, []byte{OpAddr, 1, 2, 3, 4, 5, 6, 7}, ""},
		{"lit", little, []byte{OpLit0 + 31, 1}, "4f [1f 0] [] [1]"},
		{"reg", little, []byte{OpReg0 + 31}, "6f [1f 0] [] []"},
		{"breg", little, []byte{OpBreg0 + 31, 0x7f, 1}, "8f [1f ffffffffffffffff] [] [1]"},
		{"breg, cut off", little, []byte{OpBreg0 + 31, 0x80}, ""},
		{"fbreg", little, []byte{OpFbreg, 0x70}, "91 [fffffffffffffff0 0] [] []"},
		{"const1u", little, []byte{OpConst1u, 0xff}, "08 [ff 0] [] []"},
		{"const1s", little, []byte{OpConst1s, 0xff}, "09 [ffffffffffffffff 0] [] []"},
		{"const2u", little, []byte{OpConst2u, 1, 0x82, 3}, "0a [8201 0] [] [3]"},
		{"const2s", big, []byte{OpConst2s, 0x82, 1}, "0b [ffffffffffff8201 0] [] []"},
		{"const4u", little, []byte{OpConst4u, 1, 2, 3, 0x84}, "0c [84030201 0] [] []"},
		{"const4s", little, []byte{OpConst4s, 1, 2, 3, 0x84}, "0d [ffffffff84030201 0] [] []"},
		{"const8s", little, []byte{OpConst8s, 1, 0, 0, 0, 0, 0, 0, 0x80},
			"0f [8000000000000001 0] [] []"},
		{"constu", little, []byte{OpConstu, 0x80, 0x80, 1, 9}, "10 [4000 0] [] [9]"},
		{"constu, cut off", little, []byte{OpConstu, 0x80}, ""},
		{"consts", little, []byte{OpConsts, 0x40}, "11 [ffffffffffffffc0 0] [] []"},
		{"plus", little, []byte{OpPlus}, "22 [0 0] [] []"},
		{"plus_uconst", little, []byte{OpPlusUconst, 0x40}, "23 [40 0] [] []"},
		{"regx", little, []byte{OpRegx, 0xa0, 1}, "90 [a0 0] [] []"},
		{"bregx", little, []byte{OpBregx, 0x80, 1, 0x7f, 9}, "92 [80 ffffffffffffffff] [] [9]"},
		{"bit_piece", little, []byte{OpBitPiece, 3, 0x7f}, "9d [3 7f] [] []"},
		{"implicit_value", little, []byte{OpImplicitValue, 2, 1, 2, 9}, "9e [0 0] [1 2] [9]"},
		{"implicit_value, too long", little, []byte{OpImplicitValue, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			0xff, 0xff, 0xff, 1, 2}, ""},
		{"entry_value", little, []byte{OpEntryValue, 1, 0x55, OpStackValue}, "a3 [0 0] [55] [9f]"},
		{"implicit_pointer", little, []byte{OpImplicitPointer, 1, 2, 3, 4, 0x7f, 9},
			"a0 [4030201 ffffffffffffffff] [] [9]"},
		{"GNU_implicit_pointer, large", big, []byte{0xf2, 0, 0, 0, 0, 1, 2, 3, 4, 1, 9},
			"a0 [1020304 1] [] [9]"},
		{"GNU_entry_value", little, []byte{0xf3, 1, 0x55, OpStackValue}, "a3 [0 0] [55] [9f]"},
		{"GNU_const_type", little, []byte{0xf4, 0x22, 2, 1, 2, 9}, "a4 [22 0] [1 2] [9]"},
		{"GNU_regval_type", little, []byte{0xf5, 1, 0x22, 9}, "a5 [1 22] [] [9]"},
		{"GNU_deref_type", little, []byte{0xf6, 4, 0x22, 9}, "a6 [4 22] [] [9]"},
		{"GNU_convert", little, []byte{0xf7, 0x22, 9}, "a8 [22 0] [] [9]"},
		{"GNU_reinterpret", little, []byte{0xf9, 0x22, 9}, "a9 [22 0] [] [9]"},
		{"GNU_parameter_ref", little, []byte{OpGNUParameterRef, 1, 2, 3, 4, 9}, "fa [4030201 0] [] [9]"},
		{"GNU_addr_index", little, []byte{0xfb, 3, 9}, "a1 [3 0] [] [9]"},
		{"GNU_const_index", little, []byte{0xfc, 3, 9}, "a2 [3 0] [] [9]"},
		{"call_ref, cut off", big, []byte{OpCallRef, 1, 2, 3, 4}, ""},
		{"const_type", little, []byte{OpConstType, 0x22, 2, 1, 2, 9}, "a4 [22 0] [1 2] [9]"},
		{"const_type, cut off", little, []byte{OpConstType, 0x22, 2, 1}, ""},
		{"deref_type", little, []byte{0xa6, 4, 0x22, 9}, "a6 [4 22] [] [9]"},
		{"call_frame_cfa", little, []byte{OpCallFrameCFA}, "9c [0 0] [] []"},
		{"unknown", little, []byte{0xff}, ""},
	} {
		var op Operation
		got := ""
		if rest, ok := c.o.Next(c.expr, &op); ok {
			got = fmt.Sprintf("%02x %x %x %x", op.Code, op.Numbers, ints(op.Block), ints(rest))
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func ints(b []byte) []int {
	n := make([]int, len(b))
	for i := range b {
		n[i] = int(b[i])
	}
	return n
}

// TestOperands: a reference to another unit is as large as an address in DWARF 2, and as an offset
// in later versions.
func TestOperands(t *testing.T) {
	for _, c := range []struct {
		version           uint16
		offSize, addrSize uint8
		want              int
	}{{2, 4, 8, 8}, {2, 4, 4, 4}, {3, 4, 8, 4}, {5, 4, 8, 4}, {5, 8, 8, 8}} {
		r := Reader{D: &Data{Order: binary.BigEndian}, Unit: &Unit{Version: c.version},
			f: format{version: c.version, offSize: c.offSize, addrSize: c.addrSize}}
		want := Operands{AddrSize: int(c.addrSize), RefSize: c.want, Order: binary.BigEndian}
		if got := r.Operands(); got != want {
			t.Errorf("version %d: %+v, want %+v", c.version, got, want)
		}
	}
}

// FuzzNextOperation reads whole expressions. Each operation takes at least one byte, and its block
// and the rest are parts of the expression.
func FuzzNextOperation(f *testing.F) {
	f.Add([]byte{OpReg0 + 5, OpPiece, 8, OpReg0 + 4, OpPiece, 8}, false)
	f.Add([]byte{OpEntryValue, 1, OpReg0, OpStackValue}, false)
	f.Add([]byte{OpBregx, 0x80, 1, 0x7f, OpConst2s, 0x82, 1, OpPlus}, true)
	f.Add([]byte{OpConstType, 0x22, 2, 1, 2, OpImplicitPointer, 1, 2, 3, 4, 0}, true)
	f.Fuzz(func(t *testing.T, expr []byte, big bool) {
		o := &Operands{AddrSize: 8, RefSize: 4, Order: binary.LittleEndian}
		if big {
			o = &Operands{AddrSize: 4, RefSize: 8, Order: binary.BigEndian}
		}
		var op, other Operation
		for len(expr) > 0 {
			rest, ok := o.Next(expr, &op)
			if !ok {
				return
			}
			used := len(expr) - len(rest)
			if used < 1 || len(op.Block) >= used ||
				op.Code != expr[0] && op.Code != standard[expr[0]] {
				t.Fatalf("%x: %+v, %d bytes", expr, op, used)
			}
			// What follows doesn't matter, but each byte of the operation does.
			if _, ok := o.Next(expr[:used], &other); !ok {
				t.Fatalf("%x is cut off", expr[:used])
			}
			if _, ok := o.Next(expr[:used-1], &other); ok {
				t.Fatalf("%x is not cut off", expr[:used-1])
			}
			expr = rest
		}
	})
}
