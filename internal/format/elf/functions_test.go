package elf

import (
	"cmp"
	stdelf "debug/elf"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// symbolTable makes symbols whose names are in one string table.
func symbolTable(list ...namedSymbol) *Symbols {
	t := &Symbols{names: []byte{0}}
	for _, s := range list {
		s.name = uint32(len(t.names))
		t.names = append(append(t.names, s.Name...), 0)
		t.List = append(t.List, s.Symbol)
	}
	return t
}

func symbolAt(name string, typ stdelf.SymType, section int32, value, size uint64) namedSymbol {
	return namedSymbol{Symbol{Value: value, Size: size, Section: section, Type: uint8(typ)}, name}
}

func TestPrefixSymbols(t *testing.T) {
	const fn, label = stdelf.STT_FUNC, stdelf.STT_NOTYPE
	symbols := symbolTable(
		symbolAt("padded", fn, 1, 0x110, 8),
		symbolAt("__pfx_padded", fn, 1, 0x100, 16),
		symbolAt("__cfi_both", fn, 1, 0x1f0, 16),
		symbolAt("__pfx___cfi_both", fn, 1, 0x1e0, 16),
		symbolAt("both", fn, 1, 0x200, 8),
		symbolAt("alias", fn, 1, 0x200, 8), // of both
		symbolAt("__pfx_alias", fn, 1, 0x1f0, 16),
		symbolAt("__pfx_entry", fn, 1, 0x300, 16), // of a label
		symbolAt("entry", label, 1, 0x310, 0),
		symbolAt("__pfx_far", fn, 1, 0x400, 0x100), // with another function between
		symbolAt("between", fn, 1, 0x420, 8),
		symbolAt("far", fn, 1, 0x500, 8),
		symbolAt("__pfx_alone", fn, 1, 0x600, 16),     // a function of that name
		symbolAt("__pfx_elsewhere", fn, 2, 0x6f0, 16), // elsewhere is in another section
		symbolAt("elsewhere", fn, 1, 0x700, 8),
		symbolAt("__pfx_empty", fn, 1, 0x800, 0),
		symbolAt("empty", fn, 1, 0x800, 8),
		symbolAt("data", stdelf.STT_OBJECT, 3, 0x900, 8),
	)
	functions := newFunctions(symbols)
	var got []string
	for _, f := range functions.List {
		got = append(got, symbols.Name(&symbols.List[f.Symbol]))
	}
	want := []string{"padded", "both", "alias", "between", "far", "__pfx_alone", "__pfx_elsewhere",
		"elsewhere", "__pfx_empty", "empty"}
	if !slices.Equal(got, want) {
		t.Errorf("functions %q, want %q", got, want)
	}
}

// TestFunctionsAt compares At with a binary search, for few and many addresses, spread evenly and
// unevenly.
func TestFunctionsAt(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	spread := map[string]func() uint64{
		"everywhere": r.Uint64,
		"kernel":     func() uint64 { return 0xffffffff81000000 + r.Uint64N(1<<25)&^15 },
		"few":        func() uint64 { return r.Uint64N(8) },
		"two heaps":  func() uint64 { return r.Uint64N(2)<<63 + r.Uint64N(1<<12) },
	}
	for name, address := range spread {
		for _, n := range []int{0, 1, 2, 100, 5000} {
			symbols := &Symbols{names: []byte{0}}
			for range n {
				symbols.List = append(symbols.List, Symbol{Value: address(), Type: uint8(stdelf.STT_FUNC)})
			}
			functions := newFunctions(symbols)
			var want []Function
			for i, s := range symbols.List {
				want = append(want, Function{s.Value, uint32(i)})
			}
			slices.SortStableFunc(want, func(a, b Function) int { return cmp.Compare(a.Addr, b.Addr) })
			if !slices.Equal(functions.List, want) {
				t.Fatalf("%s: %d functions are not in order", name, n)
			}
			for i := range 3000 {
				addr := address()
				if i < n {
					addr = symbols.List[i].Value + uint64(i%3) - 1
				}
				from, _ := slices.BinarySearchFunc(want, addr,
					func(f Function, addr uint64) int { return cmp.Compare(f.Addr, addr) })
				end := from
				for end < n && want[end].Addr == addr {
					end++
				}
				if got := functions.At(addr); !slices.Equal(got, want[from:end]) {
					t.Fatalf("%s: of %d functions %d are at %#x, want %d", name, n, len(got), addr, end-from)
				}
			}
		}
	}
}

func TestUsualNames(t *testing.T) {
	long := strings.Repeat("x", usualName-1) + "\x00"
	for _, tt := range []struct {
		tab  string
		want bool
	}{
		{"", true}, {"\x00", true}, {"a\x00b\x00", true}, {"a\x00b", false}, {long,
			true}, {"\x00" + long + long, true},
		{"\x00xx" + long, false}, {long + "xx" + long + "\x00", false},
	} {
		if got := areUsual([]byte(tt.tab)); got != tt.want {
			t.Errorf("a table of %d bytes: %v, want %v", len(tt.tab), got, tt.want)
		}
	}
}
