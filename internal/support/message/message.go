// Package message has what several packages need for their output: counts ("1 type", "2 types"),
// names from untrusted files made safe for a terminal, the error for empty files, and JSON. Other
// errors and texts are written where they arise.
package message

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Count returns a number with its noun: "1 type", "2 types". The parameter noun is the singular; it
// must have a regular plural.
func Count[N int | int64 | uint | uint32 | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Printable returns a name, or a text with names, for text output: unprintable characters, such as
// those that control a terminal, are escaped as in Go (\n). Names from C and Rust don't change.
// Rule: escaped control characters in all text output.
func Printable(name string) string {
	for i := range len(name) {
		if name[i]-' ' >= 0x7f-' ' { // not printable ASCII
			return escaped(name)
		}
	}
	return name
}

// AllPrintable reports whether all given names are printable ASCII, so that Printable changes none
// of them. Each name ends with NUL. AllPrintable checks eight bytes at a time.
func AllPrintable(names string) bool {
	const each = 0x0101010101010101
	i := 0
	for ; i+8 <= len(names); i += 8 {
		eight := binary.LittleEndian.Uint64([]byte(names[i : i+8]))
		low := eight &^ (0x80 * each)
		// the top bit of a byte is set: in good, if ≤ 0x7e; in nul, if NUL; in from20, if ≥ 0x20
		good, nul, from20 := ^(eight | (low + each)), ^(low + 0x7f*each), low+0x60*each
		if good&(nul|from20)&(0x80*each) != 0x80*each {
			return false
		}
	}
	for ; i < len(names); i++ {
		if names[i] != 0 && names[i]-' ' >= 0x7f-' ' {
			return false
		}
	}
	return true
}

func escaped(name string) string {
	if utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return name
	}
	quoted := strconv.Quote(name)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// Rebuild ends a message about bytes that no compiler or linker writes.
const Rebuild = "; build or copy the file again"

// Empty returns the error for an empty file; expected is what the file should be, such as "an ELF
// file". The error does not name the file.
func Empty(expected string) error {
	return fmt.Errorf("empty file, expected %s: the step that wrote it failed, or its disk was full; "+
		"make it again", expected)
}
