package split

import (
	stdelf "debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
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

// handmadeUnit is a unit of a name and with entries.
func handmadeUnit(name, entries string) string {
	unit := "\x05\x00\x01\x08\x00\x00\x00\x00" + "\x01" + name + "\x00" + entries + "\x00"
	return offset(len(unit)) + unit
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
		"many declarations": body + handmadeUnit("b.c", manyTypes(other)),
	} {
		o := elfwrite.Object{AddrSize: 8, Order: binary.LittleEndian, Linked: true,
			Machine: uint16(stdelf.EM_X86_64), Sections: []elfwrite.Section{
				{Name: ".debug_info", Data: []byte(info)}, {Name: ".debug_abbrev", Data: handmade}}}
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
