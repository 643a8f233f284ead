package badinput

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
)

// The inputs in this file resemble files that dwz writes: many compilation units import one partial
// unit. The tests write the bytes themselves, so that each unit takes only a few bytes.

// Abbreviations of the units below: 1 compile unit, 2 partial unit, 3 imported unit (ref_addr),
// 4 struct (name, byte size), 5 struct (name, byte size) with children, 6 member (name, type ref4,
// location), 8 pointer (ref4)
const dwzAbbrevs = "" +
	"\x01\x11\x01\x00\x00" + "\x02\x3c\x01\x00\x00" + "\x03\x3d\x00\x18\x10\x00\x00" +
	"\x04\x13\x00\x03\x08\x0b\x0b\x00\x00" + "\x05\x13\x01\x03\x08\x0b\x0b\x00\x00" +
	"\x06\x0d\x00\x03\x08\x49\x13\x38\x0b\x00\x00" +
	"\x08\x0f\x00\x49\x13\x00\x00" + "\x00"

// firstEntry is the offset, within a unit, of the entry that follows the unit's own entry.
const firstEntry = 13

func le32(v int) string { return string(binary.LittleEndian.AppendUint32(nil, uint32(v))) }

// dwzUnit returns a DWARF 5 unit of the given kind. The unit's own entry has the given children.
func dwzUnit(kind byte, children string) string {
	own := map[byte]string{1: "\x01", 3: "\x02"}[kind]
	body := "\x05\x00" + string(kind) + "\x08\x00\x00\x00\x00" + own + children + "\x00"
	return le32(len(body)) + body
}

// dwzFile writes a file with a partial unit, and with the given number of units that import that
// partial unit. Importing unit i also has the entries in own(i).
func dwzFile(t *testing.T, path, partial string, importers int, own func(i int) string) {
	t.Helper()
	var info strings.Builder
	info.WriteString(dwzUnit(3, partial))
	for i := range importers {
		info.WriteString(dwzUnit(1, "\x03"+le32(0)+own(i)))
	}
	harness.WriteFile(t, path, filetest.Named(t, ".debug_info", info.String(), ".debug_abbrev",
		dwzAbbrevs))
}

// plainStructs returns the entries of n structs that have a size but no members.
func plainStructs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\x04s%x\x00\x08", i)
	}
	return b.String()
}

// ring returns the entries of n definitions of one tag. Each definition has a pointer to the next
// one, and the last definition has a pointer to the first.
func ring(n int) string {
	const size = 5 + 13
	var b strings.Builder
	for i := range n {
		next := firstEntry + (i+1)%n*size
		fmt.Fprintf(&b, "\x08%s\x05t\x00%c\x06%c\x00%s\x00\x00", le32(next+5), 8+i%8, 'a'+i%26,
			le32(firstEntry+i*size))
	}
	return b.String()
}

// dwzCrafted returns crafted files in which all compilation units import one partial unit.
func dwzCrafted() []crafted {
	of := func(name, partial string, importers int, own func(i int) string, want string) crafted {
		return crafted{name: "dwz: " + name, want: want, make: func(t *testing.T, dir string) []string {
			dwzFile(t, filepath.Join(dir, "in.o"), partial, importers, own)
			return []string{"btfgen", "object", "-j8", "-o", "out.btfo", "in.o"}
		}}
	}
	none := func(int) string { return "" }
	return []crafted{
		of("each unit redefines one tag", plainStructs(2000), 1300,
			func(int) string { return "\x04s7\x00\x10" }, ""),
		of("each unit redefines a different tag", plainStructs(1000), 1000,
			func(i int) string { return fmt.Sprintf("\x04s%x\x00\x10", i) }, ""),
		of("a thousand definitions of one tag", ring(1000), 900, none, ""),
		of("six thousand definitions of one tag", ring(6000), 6000, none,
			"too deeply to be distinguished"),
		of("eight thousand definitions of one tag", ring(8000), 8000, none,
			"too deeply to be distinguished"),
		of("more types than a file may have", plainStructs(30000), 20000,
			func(i int) string { return fmt.Sprintf("\x04x%x\x00\x10", i) }, "before dwz processes it"),
	}
}
