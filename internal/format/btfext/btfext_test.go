package btfext_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btfext"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

var orders = []binary.ByteOrder{binary.LittleEndian, binary.BigEndian}

// twoSections has the relocations of two sections. One of the sections has two relocations.
var twoSections = []btfext.Section{
	{Name: 1, Relocations: []btfext.Relocation{{Insn: 8, Type: 2, Access: 10, Kind: 0},
		{Insn: 24, Type: 3, Access: 14, Kind: 12}}},
	{Name: 5, Relocations: []btfext.Relocation{{Insn: 0, Type: 2, Access: 10, Kind: 2}}},
}

// words builds a section: the magic number, the version, the flags, and then the 32-bit words.
func words(order binary.ByteOrder, list ...uint32) []byte {
	b := []byte{0, 0, 1, 0}
	order.PutUint16(b, 0xeb9f)
	for _, w := range list {
		b = append(b, 0, 0, 0, 0)
		order.PutUint32(b[len(b)-4:], w)
	}
	return b
}

func TestEncode(t *testing.T) {
	for _, order := range orders {
		got := must.Get(btfext.Encode(twoSections, order))(t)
		want := words(order,
			32,         // bytes of the header
			0, 0, 0, 0, // no information about functions and lines
			0, 68, // where the relocations are: directly after the header
			16, // bytes of a relocation
			1, 2, 8, 2, 10, 0, 24, 3, 14, 12,
			5, 1, 0, 2, 10, 2)
		if !bytes.Equal(got, want) {
			t.Errorf("%v: got\n% x, want\n% x", order, got, want)
		}
	}
}

// TestRoundTrip checks that Parse reads what Encode writes.
func TestRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		var sections []btfext.Section
		for range random.IntN(4) {
			s := btfext.Section{Name: random.Uint32()}
			for range 1 + random.IntN(5) {
				s.Relocations = append(s.Relocations, btfext.Relocation{Insn: random.Uint32(),
					Type: random.Uint32(), Access: random.Uint32(), Kind: random.Uint32()})
			}
			sections = append(sections, s)
		}
		for _, order := range orders {
			data, err := btfext.Encode(sections, order)
			must.OK(t, err)
			got, err := btfext.Parse(data, order)
			if err != nil || !reflect.DeepEqual(got, sections) {
				t.Fatalf("%v: wrote %v, read %v, %v", order, sections, got, err)
			}
		}
	}
}

// TestParse reads sections that other programs may write, and sections that Parse must refuse.
func TestParse(t *testing.T) {
	le := binary.LittleEndian
	good := words(le, 32, 0, 0, 0, 0, 0, 28, 16, 1, 1, 8, 2, 10, 0)
	one := fmt.Sprint([]btfext.Section{{Name: 1,
		Relocations: []btfext.Relocation{{Insn: 8, Type: 2, Access: 10}}}})
	for _, c := range []struct {
		name string
		data []byte
		want string // what is read, or the error
	}{
		{"one relocation", good, one},
		{"a longer header", words(le, 40, 0, 0, 0, 0, 0, 28, 7, 7, 16, 1, 1, 8, 2, 10, 0), one},
		{"longer records", words(le, 32, 0, 0, 0, 0, 0, 32, 20, 1, 1, 8, 2, 10, 0, 7), one},
		{"line information first", words(le, 32, 0, 0, 0, 8, 8, 28, 7, 7, 16, 1, 1, 8, 2, 10, 0), one},
		{"line information last", words(le, 32, 0, 0, 28, 8, 0, 28, 16, 1, 1, 8, 2, 10, 0, 7, 7), one},
		{"no relocations", words(le, 32, 0, 0, 0, 0, 0, 0), "[]"},
		{"a header from before CO-RE", words(le, 24, 0, 0, 0, 0), "[]"},

		{"empty", nil, "the section has 0 bytes, but its header alone must have 24"},
		{"short", good[:23], "the section has 23 bytes, but its header alone must have 24"},
		{"of the other byte order", words(binary.BigEndian, 32, 0, 0, 0, 0, 0, 0),
			"it starts with 0x9feb, expected 0xeb9f"},
		{"version", slices.Concat(good[:2], []byte{2}, good[3:]),
			"unknown version 2; only version 1 is known"},
		{"a short header", words(le, 20, 0, 0, 0, 0, 0, 0),
			"the header length 20 is out of bounds: the section has 32 bytes"},
		{"a header that isn't there", words(le, 33, 0, 0, 0, 0, 0, 0),
			"the header length 33 is out of bounds: the section has 32 bytes"},
		{"relocations outside", words(le, 32, 0, 0, 0, 0, 0, 32, 16, 1, 1, 8, 2, 10, 0),
			"the CO-RE relocations, at bytes 0x20 to 0x40, must be aligned to 4 bytes and " +
				"inside the section (0x3c bytes)"},
		{"an offset that overflows", words(le, 32, 0, 0, 0, 0, 0xfffffffc, 28, 16, 1, 1, 8, 2, 10, 0),
			"the CO-RE relocations, at bytes 0x10000001c to 0x100000038, must be aligned to 4 bytes and " +
				"inside the section (0x3c bytes)"},
		{"not aligned", words(le, 32, 0, 0, 0, 0, 2, 8, 16, 1, 1, 8, 2, 10, 0),
			"the CO-RE relocations, at bytes 0x22 to 0x2a, must be aligned to 4 bytes and " +
				"inside the section (0x3c bytes)"},
		{"no record size", words(le, 32, 0, 0, 0, 0, 0, 2, 16),
			"the CO-RE relocations at 0x20 are too short for their record size"},
		{"short records", words(le, 32, 0, 0, 0, 0, 0, 28, 12, 1, 1, 8, 2, 10, 0),
			"the record size is 12 bytes (at 0x20), expected 16"},
		{"odd records", words(le, 32, 0, 0, 0, 0, 0, 28, 18, 1, 1, 8, 2, 10, 0),
			"the record size is 18 bytes (at 0x20), expected 16"},
		{"half a section's head", words(le, 32, 0, 0, 0, 0, 0, 8, 16, 1),
			"truncated at 0x24: the header of a section must have 8 bytes"},
		{"too few records", words(le, 32, 0, 0, 0, 0, 0, 28, 16, 1, 2, 8, 2, 10, 0),
			"2 relocations at 0x2c, but only 16 bytes are left"},
		{"a section without records", words(le, 32, 0, 0, 0, 0, 0, 12, 16, 1, 0),
			"0 relocations at 0x2c, but only 0 bytes are left"},
		{"billions of records", words(le, 32, 0, 0, 0, 0, 0, 12, 16, 1, 0xffffffff),
			"4294967295 relocations at 0x2c, but only 0 bytes are left"},
	} {
		sections, err := btfext.Parse(c.data, le)
		got := fmt.Sprint(sections)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// TestClang checks that Parse reads the same relocations as llvm-objdump lists.
func TestClang(t *testing.T) {
	programtest.Need(t, "clang", "llvm-objdump")
	d := programtest.NewDir(t)
	d.Write("p.c", `struct s { int a, b; } __attribute__((preserve_access_index));
		__attribute__((section("one"))) int f(struct s *s) { return s->b; }
		__attribute__((section("two"))) int g(struct s *s) { return s->a + s->b; }`)
	d.Run("clang", "-target", "bpf", "-g", "-O2", "-c", "p.c")
	listed := strings.Count(programtest.Run(t, d.Path("."), "llvm-objdump", "-dr", "p.o"),
		"CO-RE <byte_off>")
	f := must.Get(elf.Open(d.Path("p.o")))(t)
	defer f.Close()
	data := must.Get(f.Section(btfext.SectionName).Data())(t)
	sections := must.Get(btfext.Parse(data, f.ByteOrder))(t)
	n := 0
	for _, s := range sections {
		n += len(s.Relocations)
	}
	if len(sections) != 2 || n != 3 || n != listed {
		t.Errorf("%d relocations in %d sections, want 3 in 2; llvm-objdump lists %d", n, len(sections),
			listed)
	}
}

// FuzzParse checks that Parse neither panics nor allocates much memory, whatever bytes it reads. If
// Parse succeeds, it must read the same relocations from what Encode writes for them.
func FuzzParse(f *testing.F) {
	for _, order := range orders {
		data := must.Get(btfext.Encode(twoSections, order))(f)
		f.Add(data, order == binary.BigEndian)
	}
	f.Fuzz(func(t *testing.T, data []byte, big bool) {
		order := orders[0]
		if big {
			order = orders[1]
		}
		sections, err := btfext.Parse(data, order)
		if err != nil {
			return
		}
		again, err := btfext.Encode(sections, order)
		must.OK(t, err)
		got, err := btfext.Parse(again, order)
		if err != nil || len(got) != len(sections) ||
			len(got) > 0 && !reflect.DeepEqual(got, sections) {
			t.Fatalf("after Encode and Parse, %v becomes %v (error: %v)", sections, got, err)
		}
	})
}
