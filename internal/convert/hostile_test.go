package convert

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// handAbbrevs are the abbreviations of the hand-made units below.
//
//	1 compile unit   2 pointer (ref4)        3 anonymous struct, children  4 member at 0 (ref4)
//	5 struct "s", children   6 partial unit  7 imported unit (ref_addr)    8 typedef "s" (ref4)
//	9 array (ref4), children 10 subrange (count data8)  11 variable "s" (ref4) at an address
//	12 compile unit with DW_AT_addr_base     13 variable at addrx 1   14 struct by signature
const handAbbrevs = "" +
	"\x01\x11\x01\x00\x00" + "\x02\x0f\x00\x49\x13\x00\x00" + "\x03\x13\x01\x00\x00" +
	"\x04\x0d\x00\x49\x13\x38\x0b\x00\x00" +
	"\x05\x13\x01\x03\x08\x00\x00" + "\x06\x3c\x01\x00\x00" + "\x07\x3d\x00\x18\x10\x00\x00" +
	"\x08\x16\x00\x03\x08\x49\x13\x00\x00" +
	"\x09\x01\x01\x49\x13\x00\x00" + "\x0a\x21\x00\x37\x07\x00\x00" +
	"\x0b\x34\x00\x03\x08\x49\x13\x02\x18\x00\x00" +
	"\x0c\x11\x01\x73\x17\x00\x00" + "\x0d\x34\x00\x03\x08\x49\x13\x02\x18\x00\x00" +
	"\x0e\x13\x00\x69\x20\x00\x00" + "\x00"

// unitOf returns a DWARF 5 unit with the given entries. The first entry is at offset 12.
func unitOf(kind byte, entries string) string {
	body := "\x05\x00" + string(kind) + "\x08\x00\x00\x00\x00" + entries
	return u32(len(body)) + body
}

func u32(v int) string { return string(binary.LittleEndian.AppendUint32(nil, uint32(v))) }

// chain returns n entries of size bytes each; f returns the entry at a given offset.
func chain(start, size, n int, f func(i, off int) string) string {
	var b strings.Builder
	for i := range n {
		e := f(i, start+i*size)
		if len(e) != size {
			panic("an entry of a different size")
		}
		b.WriteString(e)
	}
	return b.String()
}

// overlapping returns a unit in C whose first entry is a union with many members. In each member's
// bytes, there is another union, which has all members that follow. DW_AT_sibling of each union
// leads to the next one. Each union begins with the given bytes, each member with the code member.
// If code isn't empty, a struct follows that has a member with this code for each union.
func overlapping(union, member, code string) string {
	const unions = 100_000
	first, size := 13, 5+len(union)
	next := first + size // the second union, in the first member
	info := "\x01" + union + u32(next) + chain(first+size-1, size, unions-1, func(i, off int) string {
		return member + union + u32(next+(i+1)*size)
	})
	info = info[:len(info)-4] + u32(13+len(info)) + "\x00" // the last sibling is after the list
	if code != "" {
		info += "\x07s\x00" + chain(0, 5, unions, func(i, off int) string {
			return code + u32(next+i*size)
		}) + "\x00"
	}
	return unitOf(1, info+strings.Repeat("\x00", 100))
}

// overlappingAbbrevs declares a unit, a union and its members, a union with a name and its members,
// a member with a type, and a struct.
const overlappingAbbrevs = "\x01\x11\x01\x13\x21\x0c\x00\x00" +
	"\x02\x17\x01\x01\x13\x00\x00" + "\x03\x0d\x00\x3a\x0b\x3b\x06\x00\x00" +
	"\x04\x17\x01\x03\x08\x01\x13\x00\x00" + "\x05\x0d\x00\x3a\x0b\x39\x05\x3b\x06\x00\x00" +
	"\x06\x0d\x00\x49\x13\x00\x00" + "\x07\x13\x01\x03\x08\x00\x00" + "\x00"

// TestSiblingsOfOneByte converts two units whose function types have one-byte sibling attributes,
// like those that dwz writes. If fingerprints treated siblings as references, they would follow a
// cycle from the function type to the pointer after it and back, and all functions would have the
// same fingerprint.
func TestSiblingsOfOneByte(t *testing.T) {
	abbrevs := strings.TrimSuffix(handAbbrevs, "\x00") +
		"\x0f\x15\x01\x01\x11\x00\x00" + // 15 function type (sibling ref1), children
		"\x10\x05\x00\x49\x13\x00\x00" + // 16 parameter (ref4)
		"\x11\x24\x00\x03\x08\x0b\x0b\x3e\x0b\x00\x00\x00" // 17 base type
	unit := func(name, size string) string {
		return unitOf(1, "\x01"+
			"\x11"+name+"\x00"+size+"\x05"+ // at 13
			"\x08f\x00"+u32(25)+ // at 18: a typedef of the function type
			"\x0f\x21"+"\x10"+u32(13)+"\x00"+ // at 25: the function type
			"\x02"+u32(25)+ // at 33: a pointer to it
			"\x05t\x00\x04"+u32(33)+"\x00\x00"+ // a struct with the pointer
			"\x00")
	}
	if n := countNamed(t, unit("i", "\x04")+unit("l", "\x08"), abbrevs, "t"); n != 2 {
		t.Errorf("%d definitions of t, want 2", n)
	}
}

// handMade returns a file with the given sections .debug_info and .debug_abbrev.
func handMade(t *testing.T, info, abbrevs string) *elf.File {
	t.Helper()
	f := must.Get(elf.Parse("hand.o", []byte(filetest.Named(t, ".debug_info", info,
		".debug_abbrev", abbrevs, ".debug_addr", string(make([]byte, 16))))))(t)
	return f
}

// countNamed counts the different types with a given name that the units of a hand-made file
// declare.
func countNamed(t *testing.T, info, abbrevs, name string) int {
	t.Helper()
	result, err := File(handMade(t, info, abbrevs), Options{Features: features.Default(), Jobs: 1})
	must.OK(t, err)
	found := map[types.ID]bool{}
	for _, u := range result.Units {
		for _, id := range u.Items {
			if result.Graph.Name(result.Graph.Node(id)) == name {
				found[id] = true
			}
		}
	}
	return len(found)
}

// TestValuesOfNamedTypes converts pairs of units. Both units of a pair encode some type in the same
// bytes, but a value of that type depends on another type, which those bytes only name.
func TestValuesOfNamedTypes(t *testing.T) {
	abbrevs := strings.TrimSuffix(handAbbrevs, "\x00") +
		"\x0f\x04\x01\x03\x08\x0b\x0b\x00\x00" + // 15 enum (byte size), children
		"\x10\x28\x00\x03\x08\x1c\x0b\x00\x00" + // 16 enumerator (value)
		// 17 member (type ref4, location, bit size, bit offset)
		"\x11\x0d\x00\x49\x13\x38\x0b\x0d\x0b\x0c\x0b\x00\x00" +
		"\x12\x24\x00\x03\x08\x0b\x0b\x3e\x0b\x00\x00" + // 18 base type
		"\x00"
	const e = 13 // the offset of the first type in each unit
	for _, tt := range []struct {
		name string
		unit func(second bool) string
	}{
		{"a bit offset in a type whose size is not repeated", func(second bool) string {
			size := "\x04"
			if second {
				size = "\x01"
			}
			return "\x0fe\x00" + size + "\x10A\x00\x01\x00" + "\x05t\x00\x11" + u32(e) + "\x00\x02\x03\x00"
		}},
		{"a struct whose name is empty", func(second bool) string {
			member := ""
			if second {
				member = "\x04" + u32(e)
			}
			return "\x12i\x00\x04\x05" + // at 13
				"\x05\x00" + member + "\x00" + // at 18
				"\x08t\x00" + u32(e+5)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			first, second := unitOf(1, "\x01"+tt.unit(false)+"\x00"), unitOf(1, "\x01"+tt.unit(true)+"\x00")
			alone := countNamed(t, first, abbrevs, "t") + countNamed(t, second, abbrevs, "t")
			if alone != 2 {
				t.Fatalf("converted separately, the units define t %d times", alone)
			}
			if n := countNamed(t, first+second, abbrevs, "t"); n != 2 {
				t.Errorf("%d types named t, want 2", n)
			}
		})
	}
}

// TestManyImporters converts many units that import one large partial unit, like those that dwz
// writes. Each importing unit contains the declarations of that partial unit, and of the units that
// the partial unit itself imports.
func TestManyImporters(t *testing.T) {
	const structs, importers = 4000, 1500
	inner := unitOf(3, "\x06\x05inner\x00\x00")
	large := unitOf(3, "\x06\x07"+u32(0)+chain(0, 15, structs, func(i, off int) string {
		return fmt.Sprintf("\x05structure%03x\x00\x00", i)
	}))
	info := inner + large + strings.Repeat(unitOf(1, "\x01\x07"+u32(len(inner))), importers)
	for _, jobs := range []int{1, 3} {
		o, err := File(handMade(t, info, handAbbrevs), Options{Features: features.Default(), Jobs: jobs})
		must.OK(t, err)
		if len(o.Units) != importers {
			t.Errorf("%d units, want %d", len(o.Units), importers)
		}
		for i := range o.Units {
			if n := len(o.Units[i].Items); n != structs+1 {
				t.Fatalf("unit %d has %d items, want %d", i, n, structs+1)
			}
		}
	}
}

// TestHostile converts DWARF that no compiler writes. The conversion must end soon, use little
// memory, and report what is wrong. Each unit is converted alone, and then with another unit after
// it, because entries have fingerprints only in a file with several units.
func TestHostile(t *testing.T) {
	for _, tt := range []struct {
		name, info, abbrev string
		want               string // the error contains one of these; "|" separates them
	}{
		{"an entry without declaration", unitOf(1, "\x01\x7f\x00"), "",
			"abbreviation 127 is not declared"},
		{"no end of the children", unitOf(1, "\x01\x05s\x00"), "", ""},
		{"a pointer to itself", unitOf(1, "\x01\x08s\x00"+u32(21)+"\x00\x02"+u32(21)), "",
			"refers to itself without a tagged struct or union"},
		{"anonymous structs that contain each other",
			unitOf(1, "\x01\x08s\x00"+u32(20)+"\x03\x04"+u32(20)+"\x00\x00\x00"), "", "refers to itself"},
		{"a long chain of pointers", unitOf(1, "\x01\x08s\x00"+u32(20)+chain(20, 5, 100000,
			func(i, off int) string {
				return "\x02" +
					u32(off+5)
			})+"\x05s\x00\x00\x00"), "", "nests more than"},
		{"deeply nested structs", unitOf(1, "\x01"+strings.Repeat("\x05s\x00", 100000)), "",
			"nests more than|overlap or refer to each other"},
		{"nested structs", unitOf(1, "\x01"+strings.Repeat("\x05s\x00", 400)), "", ""},
		{"anonymous structs that double", unitOf(1, "\x01\x08s\x00"+u32(20)+chain(20, 14, 400,
			func(i, off int) string {
				return "\x03\x04" + u32(off+14) + "\x00\x04" + u32(off+14) + "\x00\x00"
			})+"\x05s\x00\x00\x00"), "", ""},
		{"lists of children that overlap", unitOf(1, "\x01"+chain(13, 7, 20000,
			func(i, off int) string {
				return "\x08s\x00" +
					u32(13+20000*7+i)
			})+strings.Repeat("\x03", 20000)), "", "nests more than|overlap or refer to each other"},
		{"structs that overlap", unitOf(1, "\x01"+chain(13, 7, 20000,
			func(i, off int) string { return "\x08s\x00" + u32(13+20000*7+2*i) })+
			strings.Repeat("\x03\x04", 20000)), "", ""},
		{"unions that overlap at file scope", overlapping("\x02", "\x03", ""), overlappingAbbrevs, ""},
		{"named unions that overlap at file scope", overlapping("\x04n\x00", "\x05", ""),
			overlappingAbbrevs, "a member of type void|overlap or refer to each other"},
		{"a struct whose members' types overlap", overlapping("\x02", "\x03", "\x06"),
			overlappingAbbrevs, ""},
		{"an array of many dimensions",
			unitOf(1, "\x01\x08s\x00"+u32(20)+"\x09"+u32(13)+strings.Repeat("\x0a12345678", 1000)), "", ""},
		{"a chain of imports", chain(0, 18, 3000, func(i, off int) string {
			if i == 0 {
				return unitOf(1, "\x01\x07"+u32(18))
			}
			return unitOf(3, "\x06\x07"+u32(off+18))
		}) + unitOf(3, "\x06"), "", ""},
		{"many units of one table", strings.Repeat(unitOf(1, "\x01"), 5000), "", ""},
		{"tables that overlap", chain(0, 13, 5000, func(i, off int) string {
			return u32(9) + "\x05\x00\x01\x08" + u32(7*i) + "\x01"
		}), strings.Repeat("\x01\x11\x01\x03\x08\x00\x00", 20000) + "\x00", ""},
		{"indices that wrap around",
			unitOf(1, "\x0c\xf8\xff\xff\xff\x0ds\x00"+u32(30)+"\x02\xa1\x01\x00\x02"+u32(30)), "", ""},
		{"an unknown signature", unitOf(1, "\x01\x0e12345678"), "", "no type unit with signature"},
		{"a reference that leaves the unit", unitOf(1, "\x01\x08s\x00"+u32(1<<30)), "",
			"is outside of the unit"},
		{"a unit that is cut off", unitOf(1, "\x01")[:12], "", "goes beyond the section"},
		{"version 6", "\x08\x00\x00\x00\x06\x00\x01\x08\x00\x00\x00\x00", "",
			"DWARF version 6 is not supported"},
	} {
		if tt.abbrev == "" {
			tt.abbrev = handAbbrevs
		}
		convert := func(t *testing.T, info string) {
			f, size := handMade(t, info, tt.abbrev), len(info)+len(tt.abbrev)
			var result *Result
			var err error
			programtest.Bounded(t, size, 20*time.Second, 512<<20, func() {
				result, err = File(f, Options{Features: features.Default(), Jobs: 1})
			})
			t.Logf("%d bytes, error %v", size, err)
			if tt.want != "" && (err == nil || !slices.ContainsFunc(strings.Split(tt.want, "|"),
				func(s string) bool { return strings.Contains(err.Error(), s) })) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if err != nil {
				return
			}
			merged, err := object.Merge(result.Object)
			must.OK(t, err)
			must.Get(object.Write(merged, 1))(t)
		}
		t.Run(tt.name, func(t *testing.T) { convert(t, tt.info) })
		if tt.name != "a unit that is cut off" {
			t.Run(tt.name+" and another unit", func(t *testing.T) { convert(t, tt.info+unitOf(1, "\x01")) })
		}
	}
}

// TestTypesThatContainThemselves: a struct that contains itself by value, which is impossible in C,
// gives an error that names the struct's entry, however many units and threads there are.
func TestTypesThatContainThemselves(t *testing.T) {
	const at = 13 // the first entry of a unit
	other := unitOf(1, "\x01\x05o\x00\x00\x00")
	for _, tt := range []struct{ name, unit, want string }{
		{"a member", "\x05s\x00\x04" + u32(at) + "\x00\x00", "+0xd: type s contains itself by value"},
		// an anonymous struct at 23, an array of it at 31
		{"an array of structs with a member", "\x05s\x00\x04" + u32(31) + "\x00\x00" + "\x03\x04" +
			u32(at) + "\x00\x00" + "\x09" + u32(23) + "\x0a12345678\x00", "type s contains itself"},
		{"two structs", "\x05s\x00\x04" + u32(23) + "\x00\x00" + "\x05r\x00\x04" + u32(at) + "\x00\x00",
			"+0x17: type r contains itself by value"},
		{"a pointer", "\x05s\x00\x04" + u32(23) + "\x00\x00" + "\x02" + u32(at), ""},
	} {
		for i, info := range []string{unitOf(1, "\x01"+tt.unit+"\x00"),
			unitOf(1, "\x01"+tt.unit+"\x00") + other} {
			for _, jobs := range []int{1, 2} {
				_, err := File(handMade(t, info, handAbbrevs), Options{Features: features.Default(),
					Jobs: jobs})
				if tt.want == "" && err != nil || tt.want != "" && (err == nil ||
					!strings.Contains(err.Error(), tt.want)) {
					t.Errorf("%s, %d units, %d threads: error %v, want %q", tt.name, i+1, jobs, err,
						tt.want)
				}
			}
		}
	}
}
