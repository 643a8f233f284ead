package inline

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert/inlines"
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
)

// TestExpressions compares the forms of random expressions with the LOC_PARAMs that our tools make
// of them. Compilers write few of these expressions.
func TestExpressions(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 0))
	forms := tally{}
	for range 100000 {
		u := &unit{version: 5, offsetSize: 4, addressSize: 4 + 4*g.IntN(2),
			order: []binary.ByteOrder{binary.LittleEndian, binary.BigEndian}[g.IntN(2)]}
		r := &reader{file: &elfFile{File: &elf.File{FileHeader: elf.FileHeader{Type: elf.ET_EXEC}}}}
		size := 1 + g.Uint64N(17)
		p := place{known: true, expression: someExpression(g, u, byte(size)), frameBase: someBase(g)}
		want, cause := r.text(u, p, size)
		m := &inlines.Machine{Operands: dwarf.Operands{AddrSize: u.addressSize, RefSize: u.offsetSize,
			Order: u.order}}
		l, why := m.Locate(p.expression, inlines.Parameter{Size: uint32(size),
			Signed: func() bool { return size%2 == 0 }}, m.FrameOf(p.frameBase))
		have := "?"
		if why == inlines.Known {
			loc := record{size: uint64(l.Size), words: []uint64{uint64(l.Flags)}}
			for _, v := range l.Values[:l.Count] {
				loc.words = append(loc.words, uint64(v))
			}
			var err error
			if have, err = loc.location(); err != nil {
				t.Errorf("%x: %v", p.expression, err)
			}
		}
		form, _, _ := strings.Cut(want, " ")
		forms[form]++
		if have != want {
			t.Errorf("%v, addresses of %d bytes, a parameter of %d, frame base %x: %x is %q (%s); our "+
				"tools: %q (%v)", u.order, u.addressSize, size, p.frameBase, p.expression, want, cause,
				have, why)
		}
	}
	t.Log(forms)
	for _, form := range strings.Fields("? const addr reg regs mem") {
		if forms[form] < 100 {
			t.Errorf("only %d expressions have the form %q", forms[form], form)
		}
	}
}

// someBase returns the expression of a frame base, which may be missing.
func someBase(g *rand.Rand) []byte {
	all := [][]byte{nil, {0x9c}, {0x9c}, {0x56}, {0x76, 8}, {0x9c, 0x06}, {0x90, 0x20},
		{0x9c, 0x11, 0x60, 0x22}}
	return all[g.IntN(len(all))]
}

// someExpression returns an expression for a parameter of size bytes.
func someExpression(g *rand.Rand, u *unit, size byte) []byte {
	some := func(all ...[]byte) []byte { return all[g.IntN(len(all))] }
	n := func(most int) byte { return byte(g.IntN(most)) }
	piece := func() []byte {
		word := byte(u.addressSize)
		return []byte{0x93, some([]byte{size}, []byte{word}, []byte{size - word}, []byte{n(17)})[0]}
	}
	register := func() []byte { return some([]byte{0x50 + n(32)}, []byte{0x90, n(128)}) }
	value := func() []byte {
		address := make([]byte, u.addressSize)
		address[g.IntN(len(address))] = n(256)
		return some([]byte{0x70 + n(32), n(128)}, []byte{0x92, n(128), n(128)}, []byte{0x91, n(128)},
			[]byte{0x30 + n(32)}, []byte{0x08, n(256)}, []byte{0x09, n(256)}, []byte{0x0a, n(9), n(256)},
			[]byte{0x0d, n(256), 0, 0, n(256)}, []byte{0x10, n(128)}, []byte{0x11, n(128)},
			append([]byte{0x03}, address...))
	}
	operation := func() []byte {
		return some([]byte{0x23, n(128)}, append(value(), 0x22), append(value(), 0x1c), []byte{0x22},
			[]byte{0x06}, []byte{0x94, 4}, []byte{0x9c}, []byte{0x1e}, []byte{0xa3, 1, 0x50})
	}
	var all []byte
	switch g.IntN(4) {
	case 0:
		all = slices.Concat(register(), piece(), register(), piece())
	case 1:
		all = slices.Concat(some(value(), append(value(), operation()...)), some([]byte{0x9f}, nil),
			some(piece(), nil))
	case 2:
		length := some([]byte{size}, []byte{n(17)})[0]
		all = slices.Concat([]byte{0x9e, length}, bytes.Repeat([]byte{n(256)}, int(length)),
			some(piece(), nil))
	default:
		for range 1 + g.IntN(4) {
			all = append(all, some(register(), value(), operation(), piece(), []byte{0x9f})...)
		}
	}
	if g.IntN(10) == 0 {
		all = all[:g.IntN(len(all)+1)]
	}
	return slices.Clip(all)
}
