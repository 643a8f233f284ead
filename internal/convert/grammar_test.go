package convert

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// grammar builds the entries of a unit by hand, including types that no compiler writes.
type grammar struct {
	entries strings.Builder
	names   int
}

// grammarAbbrevs has the abbreviation declarations, numbered from 1.
var grammarAbbrevs = func() string {
	var b strings.Builder
	for i, a := range []string{
		"\x11\x01",                         // 1 compile unit
		"\x24\x00\x03\x08\x0b\x06\x3e\x0b", // 2 base type: name, size, encoding
		"\x0f\x00\x49\x13", "\x0f\x00",     // 3 pointer; 4 to void
		"\x26\x00\x49\x13", "\x26\x00", // 5 const; 6 const void
		"\x35\x00\x49\x13",                             // 7 volatile
		"\x16\x00\x03\x08\x49\x13", "\x16\x00\x03\x08", // 8 typedef; 9 of void
		"\x01\x01\x49\x13", "\x01\x01", // 10 array; 11 of void
		"\x21\x00\x37\x06", "\x21\x00", // 12 subrange with a count; 13 without
		"\x13\x01\x03\x08\x0b\x06", "\x13\x01\x0b\x06", // 14 struct: name, size; 15 size
		"\x17\x01\x03\x08\x0b\x06", "\x17\x01\x0b\x06", // 16 union: name, size; 17 size
		"\x0d\x00\x03\x08\x49\x13\x38\x06",             // 18 member: name, type, location
		"\x0d\x00\x03\x08\x38\x06",                     // 19 member: name, location
		"\x0d\x00\x03\x08\x49\x13\x0d\x0b\x6b\x06",     // 20 bit-field: name, type, bits, bit offset
		"\x04\x01\x03\x08\x0b\x06", "\x04\x01\x49\x13", // 21 enum: name, size; 22 type
		"\x28\x00\x03\x08\x1c\x0b",     // 23 enumerator: name, value
		"\x15\x01\x49\x13", "\x15\x01", // 24 function type; 25 without a result
		"\x05\x00\x49\x13", "\x18\x00", // 26 parameter; 27 "..."
		"\x3b\x00\x03\x08", "\x3b\x00", // 28 unspecified type: name; 29 none
		"\x13\x00\x03\x08\x3c\x19", // 30 declared struct
		"\x47\x00\x49\x13",         // 31 atomic
	} {
		b.WriteString(string(rune(i+1)) + a + "\x00\x00")
	}
	return b.String() + "\x00"
}()

// add adds an entry, and returns its offset in the unit.
func (g *grammar) add(code byte, values ...any) int {
	off := 13 + g.entries.Len()
	g.entries.WriteByte(code)
	for _, v := range values {
		switch v := v.(type) {
		case string:
			g.entries.WriteString(v + "\x00")
		case byte:
			g.entries.WriteByte(v)
		case int:
			g.entries.Write(binary.LittleEndian.AppendUint32(nil, uint32(v)))
		}
	}
	return off
}

func (g *grammar) end() { g.entries.WriteByte(0) }

func (g *grammar) name() string {
	g.names++
	return fmt.Sprintf("n%d", g.names)
}

// shape is a type that grammar writes. The function make takes the offset of the type that the
// shape refers to, or 0 for a leaf.
type shape struct {
	name string
	make func(g *grammar, of int) int
}

// arrayOf, holderOf, bitsOf and chainOf return functions that write a type. Such a function takes
// the offset of the type to which the written type refers.
func arrayOf(count int) func(g *grammar, of int) int {
	return func(g *grammar, of int) int {
		off := g.add(10, of)
		if count >= 0 {
			g.add(12, count)
		} else {
			g.add(13)
		}
		g.end()
		return off
	}
}

func holderOf(code byte, size, at int) func(g *grammar, of int) int {
	return func(g *grammar, of int) int {
		var off int
		if code == 14 || code == 16 {
			off = g.add(code, g.name(), size)
		} else {
			off = g.add(code, size)
		}
		g.add(18, "m", of, at)
		g.end()
		return off
	}
}

func bitsOf(code byte, bits byte, at int) func(g *grammar, of int) int {
	return func(g *grammar, of int) int {
		off := g.add(code, 64)
		g.add(20, "b", of, bits, at)
		g.end()
		return off
	}
}

func chainOf(code byte, n int) func(g *grammar, of int) int {
	return func(g *grammar, of int) int {
		for range n {
			if code == 8 {
				of = g.add(code, g.name(), of)
			} else {
				of = g.add(code, of)
			}
		}
		return of
	}
}

func baseOf(size int, encoding byte) func(g *grammar, _ int) int {
	return func(g *grammar, _ int) int { return g.add(2, g.name(), size, encoding) }
}

var (
	leaves = []shape{
		{"int", baseOf(4, 5)}, {"char", baseOf(1, 6)}, {"__int128", baseOf(16, 5)},
		{"_Bool", baseOf(1, 2)}, {"float", baseOf(4, 4)}, {"long double", baseOf(16, 4)},
		{"half a float", baseOf(3, 4)}, {"a base type of no bytes", baseOf(0, 5)},
		{"a base type of 3 bytes", baseOf(3, 7)}, {"a base type of 1 GB", baseOf(1<<30, 7)},
		{"void *", func(g *grammar, _ int) int { return g.add(4) }},
		{"const void", func(g *grammar, _ int) int { return g.add(6) }},
		{"typedef of void", func(g *grammar, _ int) int { return g.add(9, g.name()) }},
		{"decltype(nullptr)", func(g *grammar, _ int) int { return g.add(28, "decltype(nullptr)") }},
		{"typeof (nullptr)", func(g *grammar, _ int) int { return g.add(28, "typeof (nullptr)") }},
		{"unspecified", func(g *grammar, _ int) int { return g.add(29) }},
		{"unspecified x", func(g *grammar, _ int) int { return g.add(28, "x") }},
		{"declared struct", func(g *grammar, _ int) int { return g.add(30, g.name()) }},
		{"void array", func(g *grammar, _ int) int {
			off := g.add(11)
			g.add(12, 3)
			g.end()
			return off
		}},
		{"void member", func(g *grammar, _ int) int {
			off := g.add(14, g.name(), 8)
			g.add(19, "m", 0)
			g.end()
			return off
		}},
		{"empty struct", func(g *grammar, _ int) int {
			off := g.add(15, 0)
			g.end()
			return off
		}},
		{"enum of 4 bytes", enumOf(4)}, {"enum of 1 byte", enumOf(1)}, {"enum of 8 bytes", enumOf(8)},
		{"enum of 3 bytes", enumOf(3)}, {"enum of 16 bytes", enumOf(16)},
		{"enum of 0 bytes", enumOf(0)},
		{"void f(...)", func(g *grammar, _ int) int {
			off := g.add(25)
			g.add(27)
			g.end()
			return off
		}},
	}
	composed = []shape{
		{"pointer to ", chainOf(3, 1)}, {"const ", chainOf(5, 1)}, {"typedef of ", chainOf(8, 1)},
		{"_Atomic ", chainOf(31, 1)},
		{"40 typedefs of ", chainOf(8, 40)}, {"32 const ", chainOf(5, 32)},
		{"array of ", arrayOf(3)}, {"empty array of ", arrayOf(0)}, {"flexible array of ", arrayOf(-1)},
		{"large array of ", arrayOf(1 << 20)},
		{"named struct of ", holderOf(14, 1<<31-1, 0)}, {"struct of ", holderOf(15, 1<<31-1, 8)},
		{"struct that ends before ", holderOf(15, 4, 8)},
		{"struct that ends where there is ", holderOf(14, 8, 8)},
		{"named union of ", holderOf(16, 1<<31-1, 0)},
		{"union with an offset of ", holderOf(17, 1<<31-1, 8)},
		{"struct with a member far away of ", holderOf(14, 1<<31-1, 1<<29)},
		{"struct with 3 bits of ", bitsOf(15, 3, 2)}, {"struct with 33 bits of ", bitsOf(15, 33, 0)},
		{"union with 3 bits of ", bitsOf(17, 3, 0)},
		{"union with 3 bits at bit 2 of ", bitsOf(17, 3, 2)},
		{"struct with a bit far away of ", bitsOf(15, 1, 1<<24)},
		{"function that returns ", func(g *grammar, of int) int {
			off := g.add(24, of)
			g.end()
			return off
		}},
		{"function that takes ", func(g *grammar, of int) int {
			off := g.add(25)
			g.add(26, of)
			g.end()
			return off
		}},
		{"enum of the type ", func(g *grammar, of int) int {
			off := g.add(22, of)
			g.add(23, g.name(), byte(1))
			g.end()
			return off
		}},
	}
)

func enumOf(size int) func(g *grammar, _ int) int {
	return func(g *grammar, _ int) int {
		off := g.add(21, g.name(), size)
		g.add(23, g.name(), byte(1))
		g.end()
		return off
	}
}

// trusted matches the violations of BPF_BTF_LOAD's rules that the test accepts: C or its compilers
// produce such types, and the kernel doesn't apply these rules to its own BTF.
var trusted = regexp.MustCompile(
	`: member-bounds: |` + // the DWARF states the size; members begin after it
		`: member-bitfield: .* is an enum of .* bits, but the kernel reads only 32|` + // a wide enum
		`: array-size: |` + // 4 GiB and more
		`: param-type: return type: |` + // const void, and typedefs of void
		`: depth: |` +
		// what a link with facts leaves out or replaces, see TestDeclaredOnly
		`: member-align: .* is a FLOAT of |,? (is )?a FWD$|has no size$`)

// TestGrammar converts types that are nested up to three levels deep. The unit with the type is
// converted both alone and in a file with another unit. The result must be BTF that obeys the
// kernel's rules, or an error that names the entry.
func TestGrammar(t *testing.T) {
	var all []shape
	for k, leaf := range leaves {
		all = append(all, leaf)
		for i, outer := range composed {
			all = append(all, shape{outer.name + leaf.name, func(g *grammar, _ int) int {
				return outer.make(g, leaf.make(g, 0))
			}})
			for j, inner := range composed {
				if (i+j+k)%9 != 0 { // combine each pair with only three or four leaves
					continue
				}
				of := func(g *grammar, _ int) int { return outer.make(g, inner.make(g, leaf.make(g, 0))) }
				all = append(all, shape{outer.name + inner.name + leaf.name, of})
				if third := composed[(7*i+3*j)%len(composed)]; (i+j)%4 == 0 {
					all = append(all, shape{third.name + outer.name + inner.name + leaf.name,
						func(g *grammar, _ int) int { return third.make(g, of(g, 0)) }})
				}
			}
		}
	}
	refused := 0
	for _, s := range all {
		g := &grammar{}
		g.add(8, "t", s.make(g, 0)) // because of the typedef, the unit holds the type
		unit := unitOf(1, "\x01"+g.entries.String()+"\x00")
		alone, reason := convertGrammar(t, s.name, unit)
		beside, again := convertGrammar(t, s.name, unit+unitOf(1, "\x01\x00"))
		if alone != beside || reason != again {
			t.Errorf("%s: alone %q %q, beside another unit %q %q", s.name, alone, reason, beside, again)
		}
		if reason != "" {
			refused++
		}
	}
	t.Logf("%d types, %d refused", len(all), refused)
	if refused == 0 || len(all)-refused < 900 {
		t.Errorf("%d of %d types are refused", refused, len(all))
	}
}

var entryError = regexp.MustCompile(
	`^hand\.o: \.debug_info\+0x[0-9a-f]+: unit .* can't be expressed in BTF`)

// convertGrammar returns the BTF of a hand-made file, or the conversion's error.
func convertGrammar(t *testing.T, name, info string) (blob, reason string) {
	t.Helper()
	o, err := File(handMade(t, info, grammarAbbrevs), Options{Features: features.Default(), Jobs: 1})
	if err != nil {
		if !entryError.MatchString(err.Error()) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v", name, err)
		}
		return "", err.Error()
	}
	r, err := link.Link([]*object.Object{o.Object}, link.Options{Features: features.Default(), Jobs: 1})
	if err != nil {
		t.Errorf("%s: link: %v", name, err)
		return "", ""
	}
	b, err := btf.Parse(r.BTF, nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	rules := verify.Load
	for _, v := range verify.Check(b, verify.Options{Only: &rules, Sorted: true}) {
		if v.Scope != verify.Load || !trusted.MatchString(v.String()) {
			t.Errorf("%s: the kernel refuses %v", name, v)
		}
	}
	return string(r.BTF), ""
}
