package split

import (
	stdelf "debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
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
	0,
}

// TestHandmade splits units in which definitions stand in places that compilers rarely use.
func TestHandmade(t *testing.T) {
	for name, entries := range map[string]string{
		// The typedef refers to a struct that the unit does not hold.
		"a definition in an inlined call": "\x02" + "\x03hidden\x00\x04" + "\x00" +
			"\x04t\x00\x12\x00\x00\x00",
		"a definition in a function in a struct": "\x05outer\x00\x04" +
			"\x06method\x00\x08\x00\x00\x00\x00\x00\x00\x00" + "\x03inner\x00\x01" + "\x00" + "\x00",
	} {
		unit := "\x05\x00\x01\x08\x00\x00\x00\x00" + "\x01a.c\x00" + entries + "\x00"
		o := elfwrite.Object{AddrSize: 8, Order: binary.LittleEndian, Linked: true,
			Machine: uint16(stdelf.EM_X86_64), Sections: []elfwrite.Section{
				{Name: ".debug_info", Data: append([]byte{byte(len(unit)), 0, 0, 0}, unit...)},
				{Name: ".debug_abbrev", Data: handmade}}}
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
			t.Fatal(err)
		}
		sameObject(t, name, path, 1, options["all"], want)
	}
}
