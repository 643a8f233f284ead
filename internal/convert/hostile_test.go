package convert

import (
	stdelf "debug/elf"
	"encoding/binary"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/elfwrite"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/object"
	"github.com/rules-btf/rules_btf/internal/types"
)

// Abbreviations of the hand-made units below.
//
//	1 compile unit   2 pointer (ref4)        3 struct, unnamed, children   4 member at 0 (ref4)
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

// unitOf is a DWARF 5 unit with the given entries. Its first entry is at offset 12.
func unitOf(kind byte, entries string) string {
	body := "\x05\x00" + string(kind) + "\x08\x00\x00\x00\x00" + entries
	return u32(len(body)) + body
}

func u32(v int) string { return string(binary.LittleEndian.AppendUint32(nil, uint32(v))) }

// chain makes n entries of size bytes each; entry i is made by f out of its own offset.
func chain(start, size, n int, f func(i, off int) string) string {
	var b strings.Builder
	for i := range n {
		e := f(i, start+i*size)
		if len(e) != size {
			panic("an entry of another size")
		}
		b.WriteString(e)
	}
	return b.String()
}

// TestSiblingsOfOneByte has two units whose function types tell where the next entry is in one
// byte, as dwz writes it. A fingerprint that took that for a reference would go round in a circle,
// from the function type to the pointer behind it and back, and be the same for all functions.
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
	o := elfwrite.Object{AddrSize: 8, Order: binary.LittleEndian, Machine: uint16(stdelf.EM_X86_64),
		Sections: []elfwrite.Section{
			{Name: ".debug_info", Data: []byte(unit("i", "\x04") + unit("l",
				"\x08"))}, {Name: ".debug_abbrev", Data: []byte(abbrevs)}}}
	data, err := o.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Parse("siblings.o", data)
	if err != nil {
		t.Fatal(err)
	}
	result, err := File(f, Options{Features: features.Default(), Jobs: 1})
	if err != nil {
		t.Fatal(err)
	}
	found := map[types.ID]bool{}
	for _, u := range result.Units {
		for _, id := range u.Items {
			if n := result.Graph.Node(id); n.IsDefinition() && result.Graph.Name(n) == "t" {
				found[id] = true
			}
		}
	}
	if len(found) != 2 {
		t.Errorf("%d definitions of t, want 2", len(found))
	}
}

// TestHostile converts DWARF that no compiler writes. It must end soon, with modest memory, and
// tell what is wrong where something is. Each file is converted as it is, and with another unit
// behind: then entries have fingerprints.
func TestHostile(t *testing.T) {
	for _, tt := range []struct {
		name, info, abbrev string
		want               string // in the error; one of those that "|" separates
	}{
		{"an entry without declaration", unitOf(1, "\x01\x7f\x00"), "",
			"abbreviation 127 is not declared"},
		{"no end of the children", unitOf(1, "\x01\x05s\x00"), "", ""},
		{"a pointer to itself", unitOf(1, "\x01\x08s\x00"+u32(21)+"\x00\x02"+u32(21)), "",
			"contains itself without a struct, union or enum tag"},
		{"unnamed structs that contain each other",
			unitOf(1, "\x01\x08s\x00"+u32(20)+"\x03\x04"+u32(20)+"\x00\x00\x00"), "", "contains itself"},
		{"a long chain of pointers", unitOf(1, "\x01\x08s\x00"+u32(20)+chain(20, 5, 100000,
			func(i, off int) string {
				return "\x02" +
					u32(off+5)
			})+"\x05s\x00\x00\x00"), "", "nested more than"},
		{"deeply nested structs", unitOf(1, "\x01"+strings.Repeat("\x05s\x00", 100000)), "",
			"nested more than|overlap or refer to each other"},
		{"nested structs", unitOf(1, "\x01"+strings.Repeat("\x05s\x00", 400)), "", ""},
		{"unnamed structs that double", unitOf(1, "\x01\x08s\x00"+u32(20)+chain(20, 14, 400,
			func(i, off int) string {
				return "\x03\x04" + u32(off+14) + "\x00\x04" + u32(off+14) + "\x00\x00"
			})+"\x05s\x00\x00\x00"), "", ""},
		{"lists of children that overlap", unitOf(1, "\x01"+chain(13, 7, 20000,
			func(i, off int) string {
				return "\x08s\x00" +
					u32(13+20000*7+i)
			})+strings.Repeat("\x03", 20000)), "", "nested more than|overlap or refer to each other"},
		{"structs that overlap", unitOf(1, "\x01"+chain(13, 7, 20000,
			func(i, off int) string { return "\x08s\x00" + u32(13+20000*7+2*i) })+
			strings.Repeat("\x03\x04", 20000)), "", ""},
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
			"leaves the unit"},
		{"a unit that is cut off", unitOf(1, "\x01")[:12], "", "goes beyond the section"},
		{"version 6", "\x08\x00\x00\x00\x06\x00\x01\x08\x00\x00\x00\x00", "",
			"DWARF version 6 is not supported"},
	} {
		if tt.abbrev == "" {
			tt.abbrev = handAbbrevs
		}
		convert := func(t *testing.T, info string) {
			o := elfwrite.Object{AddrSize: 8, Order: binary.LittleEndian, Machine: uint16(stdelf.EM_X86_64),
				Sections: []elfwrite.Section{
					{Name: ".debug_info", Data: []byte(info)}, {Name: ".debug_abbrev",
						Data: []byte(tt.abbrev)}, {Name: ".debug_addr", Data: make([]byte, 16)}}}
			data, err := o.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			f, err := elf.Parse("hostile.o", data)
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			result, err := File(f, Options{Features: features.Default(), Jobs: 1})
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("%d bytes took %v", len(data), took)
			}
			runtime.ReadMemStats(&after)
			if made := after.TotalAlloc - before.TotalAlloc; made > 512<<20 {
				t.Errorf("%d bytes of input made %d bytes of memory", len(data), made)
			}
			t.Logf("%d bytes, %v, error %v", len(data), time.Since(start), err)
			if tt.want != "" && (err == nil || !slices.ContainsFunc(strings.Split(tt.want, "|"),
				func(s string) bool { return strings.Contains(err.Error(), s) })) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if err != nil {
				return
			}
			merged, err := object.Merge(result)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := object.Write(merged); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(tt.name, func(t *testing.T) { convert(t, tt.info) })
		if tt.name != "a unit that is cut off" {
			t.Run(tt.name+" and another unit", func(t *testing.T) { convert(t, tt.info+unitOf(1, "\x01")) })
		}
	}
}
