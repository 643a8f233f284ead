package random

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestImportedUnit converts a file that resembles dwz's output for many units with the same types:
// one large partial unit, which all units import. The source is assembly, because compilers would
// take minutes for so many units.
func TestImportedUnit(t *testing.T) {
	harness.Need(t, "as", "ld")
	const units, structs = 1500, 8000
	dir := t.TempDir()
	source := importedUnit(units, structs)
	harness.WriteFile(t, dir+"/units.s", source)
	harness.MustRun(t, dir, "as", "-o", "units.o", "units.s")
	harness.MustRun(t, dir, "ld", "-e", "0", "-o", "linked", "units.o")
	var all []result
	for _, j := range []string{"-j1", "-j16"} {
		harness.MustRun(t, dir, harness.Tool(t, "btfgen"), "elf", j, "-o", j+".btf", "linked")
		all = append(all, result{"btfgen elf " + j, harness.ReadFile(t, dir+"/"+j+".btf")})
	}
	must.OK(t, sameBytes(all...))
	const others = 2 // int, and void, which cilium/ebpf counts too
	if have := len(all[0].types()); have != structs+others {
		t.Errorf("%d types, want %d", have, structs+others)
	}
}

// importedUnit returns assembly for DWARF in which all units import one partial unit with structs.
func importedUnit(units, structs int) string {
	var b strings.Builder
	b.WriteString(`	.section .debug_abbrev,"",@progbits
	.uleb128 1, 0x3c	# DW_TAG_partial_unit
	.byte 1, 0, 0
	.uleb128 2, 0x24	# DW_TAG_base_type
	.byte 0, 0x03, 0x08, 0x0b, 0x0b, 0x3e, 0x0b, 0, 0	# name, byte_size, encoding
	.uleb128 3, 0x13	# DW_TAG_structure_type
	.byte 1, 0x03, 0x08, 0x0b, 0x0b, 0, 0	# name, byte_size
	.uleb128 4, 0x0d	# DW_TAG_member
	.byte 0, 0x03, 0x08, 0x49, 0x13, 0x38, 0x0b, 0, 0	# name, type, data_member_location
	.uleb128 5, 0x11	# DW_TAG_compile_unit
	.byte 1, 0x03, 0x08, 0x13, 0x0b, 0, 0	# name, language
	.uleb128 6, 0x3d	# DW_TAG_imported_unit
	.byte 0, 0x18, 0x10, 0, 0	# import
	.byte 0
	.section .debug_info,"",@progbits
partial:
`)
	unit := func(name, content string) {
		fmt.Fprintf(&b,
			"\t.long %[1]s_end - %[1]s_begin\n%[1]s_begin:\n\t.short 4\n\t.long 0\n\t.byte 8\n"+
				"%[2]s\t.byte 0\n%[1]s_end:\n",
			name, content)
	}
	var types strings.Builder
	types.WriteString("\t.uleb128 1\nint:\n\t.uleb128 2\n\t.asciz \"int\"\n\t.byte 4, 5\n")
	for i := range structs {
		fmt.Fprintf(&types, "\t.uleb128 3\n\t.asciz \"s%d\"\n\t.byte 8\n", i)
		for j := range 2 {
			fmt.Fprintf(&types, "\t.uleb128 4\n\t.asciz \"m%d\"\n\t.long int - partial\n\t.byte %d\n", j,
				4*j)
		}
		types.WriteString("\t.byte 0\n")
	}
	unit("p", types.String())
	for i := range units {
		unit(fmt.Sprintf("u%d", i), fmt.Sprintf(
			"\t.uleb128 5\n\t.asciz \"u%d.s\"\n\t.byte 12\n\t.uleb128 6\n\t.long partial\n", i))
	}
	return b.String()
}
