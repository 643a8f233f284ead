// Package message has what the output of several packages shares: counts ("1 type", "2 types"),
// names from untrusted files without terminal control, the error for empty files, and JSON.
package message

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Count is a number of things in words: "1 type", "2 types". The noun is in the singular and has a
// regular plural.
func Count[N int | int64 | uint | uint32 | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Printable returns a name, or a text with names, for text output: characters that can't be
// printed, such as those that control a terminal, are escaped as in Go ("\\n", "\\x1b"). Names of C
// and Rust don't change.
func Printable(name string) string {
	for i := range len(name) {
		if name[i]-' ' >= 0x7f-' ' { // not printable ASCII
			return escaped(name)
		}
	}
	return name
}

func escaped(name string) string {
	if utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return name
	}
	quoted := strconv.Quote(name)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// Empty is the error for a file of 0 bytes where something else is expected, such as "an ELF file".
// It does not name the file.
func Empty(expected string) error {
	return fmt.Errorf("empty file, expected %s: the step that wrote it failed, or its disk was full; "+
		"make it again", expected)
}
