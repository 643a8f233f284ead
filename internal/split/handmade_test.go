package split

import (
	stdelf "debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/elfwrite"
)

// handmade is .debug_abbrev of units that no compiler writes, with forms that need no other
// section.
var handmade = []byte{
	1, 0x11, 1, 0x03, 0x08, 0, 0, // DW_TAG_compile_unit: DW_AT_name, children
	2, 0x1d, 1, 0, 0, // DW_TAG_inlined_subroutine: children
	3, 0x13, 0, 0x03, 0x08, 0x0b, 0x0b, 0, 0, // DW_TAG_structure_type: DW_AT_name, DW_AT_byte_size
	4, 0x16, 0, 0x03, 0x08, 0x49, 0x13, 0, 0, // DW_TAG_typedef: DW_AT_name, DW_AT_type (ref4)
	5, 0x13, 1, 0x03, 0x08, 0x0b, 0x0b, 0, 0, // DW_TAG_structure_type: the same, children
	6, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0, 0, // DW_TAG_subprogram: name, DW_AT_low_pc, children
	// DW_TAG_subprogram: DW_AT_abstract_origin (ref_addr), DW_AT_low_pc
	7, 0x2e, 0, 0x31, 0x10, 0x11, 0x01, 0, 0,
	8, 0x0b, 1, 0, 0, // DW_TAG_lexical_block: children
	9, 0x24, 0, 0x3e, 0x0b, 0x0b, 0x06, 0, 0, // DW_TAG_base_type: DW_AT_encoding, DW_AT_byte_size
	10, 0x0f, 0, 0x49, 0x10, 0, 0, // DW_TAG_pointer_type: DW_AT_type (ref_addr)
	11, 0x34, 0, 0x49, 0x10, 0, 0, // DW_TAG_variable: DW_AT_type (ref_addr)
	0,
}

// handmadeC are those of units of C without references to other units, so that types are shared.
var handmadeC = []byte{
	2, 0x1d, 1, 0, 0, 3, 0x13, 0, 0x03, 0x08, 0x0b, 0x0b, 0, 0, // as above
	5, 0x13, 1, 0x03, 0x08, 0x0b, 0x0b, 0, 0, 6, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0, 0,
	// DW_TAG_compile_unit: DW_AT_name, DW_AT_language, children
	12, 0x11, 1, 0x03, 0x08, 0x13, 0x0b, 0, 0,
	13, 0x13, 1, 0x03, 0x08, 0, 0, // DW_TAG_structure_type: DW_AT_name, children
	14, 0x0d, 0, 0x49, 0x13, 0x38, 0x0b, 0, 0, // DW_TAG_member: DW_AT_type (ref4), its place
	15, 0x05, 0, 0x49, 0x13, 0, 0, // DW_TAG_formal_parameter: DW_AT_type (ref4)
	16, 0x04, 0, 0x03, 0x08, 0x0b, 0x0b, 0, 0, // DW_TAG_enumeration_type: DW_AT_name, its size
	// DW_TAG_member: DW_AT_type (ref4), DW_AT_bit_size, DW_AT_bit_offset, its place
	17, 0x0d, 0, 0x49, 0x13, 0x0d, 0x0b, 0x0c, 0x0b, 0x38, 0x0b, 0, 0,
	18, 0x13, 1, 0, 0, // DW_TAG_structure_type: children
	0,
}

// handmadeUnit is a unit of a name and with entries.
func handmadeUnit(name, entries string) string {
	return handmadeRoot(0, "\x01"+name+"\x00"+entries)
}

// unitOfC is a unit whose types may be shared. Its entries begin at 18.
func unitOfC(name, entries string) string {
	return handmadeRoot(len(handmade), "\x0c"+name+".c\x00\x0c"+entries)
}

func handmadeRoot(abbrevs int, entries string) string {
	unit := "\x05\x00\x01\x08" + offset(abbrevs) + entries + "\x00"
	return offset(len(unit)) + unit
}

// twoOfC are two units that differ in one byte.
func twoOfC(entries string) string {
	return unitOfC("a", strings.ReplaceAll(entries, "?", "\x04")) +
		unitOfC("b", strings.ReplaceAll(entries, "?", "\x08"))
}

func offset(n int) string { return string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }

// TestHandmade splits units in which definitions stand in places that compilers rarely use, or to
// which they rarely refer.
func TestHandmade(t *testing.T) {
	const code = "\x08\x00\x00\x00\x00\x00\x00\x00"
	body := handmadeUnit("a.c", "\x06called\x00"+code+"\x08"+"\x03local\x00\x04"+"\x08"+
		"\x05inner\x00\x08"+"\x00"+"\x00"+"\x00"+"\x00"+"\x03other\x00\x02")
	called := offset(strings.Index(body, "\x06called"))
	other := offset(strings.Index(body, "\x03other"))
	for name, info := range map[string]string{
		// The typedef refers to a struct that the unit does not hold.
		"a definition in an inlined call": handmadeUnit("a.c", "\x02"+"\x03hidden\x00\x04"+"\x00"+
			"\x04t\x00\x12\x00\x00\x00"),
		"a definition in a function in a struct": handmadeUnit("a.c", "\x05outer\x00\x04"+
			"\x06method\x00"+code+"\x03inner\x00\x01"+"\x00"+"\x00"),
		// What is in the function's body belongs to the unit that refers to it, too.
		"a function of another unit": body + handmadeUnit("b.c", "\x07"+called+code),
		"a function of two others": body + handmadeUnit("b.c", "\x07"+called+code) +
			handmadeUnit("c.c", "\x07"+called+code+"\x0b"+other),
		"a reference from a function's body": body + handmadeUnit("b.c", "\x06f\x00"+code+"\x08"+
			"\x0b"+other+"\x00"+"\x00"),
		// Nothing of what refers to struct s says that it is another one in the other unit.
		"a size that is computed": twoOfC("\x03s\x00?" + "\x0dt\x00" + "\x0e" + offset(18) +
			"\x00" + "\x00"),
		"a bitfield that counts from its type's end": twoOfC("\x10e\x00?" + "\x05t\x00\x08" +
			"\x11" + offset(18) + "\x03\x02\x00" + "\x00"),
		"what refers to a size that is computed": twoOfC("\x03s\x00?" + "\x12" + "\x0e" +
			offset(18) + "\x00" + "\x00" + "\x05u\x00\x08" + "\x0e" + offset(22) + "\x00" + "\x00"),
		"a value of a type in an inlined call": twoOfC("\x02" + "\x03hidden\x00?" + "\x00" +
			"\x06f\x00" + code + "\x0f" + offset(19) + "\x00"),
		"many declarations": body + handmadeUnit("b.c", manyTypes(other)),
	} {
		o := elfwrite.Object{AddrSize: 8, Order: binary.LittleEndian, Linked: true,
			Machine: uint16(stdelf.EM_X86_64), Sections: []elfwrite.Section{
				{Name: ".debug_info", Data: []byte(info)},
				{Name: ".debug_abbrev", Data: slices.Concat(handmade, handmadeC)}}}
		data, err := o.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "handmade")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		want, err := convertAll(path, options["all"])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, shards := range []int{1, 2, 5} {
			sameObject(t, name, path, shards, options["all"], want)
		}
	}
}

// manyTypes are the entries of a unit whose copy needs more than 127 abbreviation declarations, for
// the forms of numbers follow from their values. The last of them is that of a reference to another
// unit.
func manyTypes(other string) string {
	var types, defs string
	base := len(handmadeUnit("b.c", "")) - 1
	for i := range 192 {
		defs += fmt.Sprintf("\x04t%03d\x00", i) + offset(base+len(types))
		types += "\x09" + string([]byte{byte(i % 64)}) + offset(1<<(8*(i/64)))
	}
	defs += "\x04last\x00" + offset(base+len(types))
	types += "\x0a" + other
	return types + defs
}
