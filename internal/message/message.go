// Package message has what the messages of several packages share: counts, and what is said of
// files that are empty.
package message

import "fmt"

// Count is a number of things in words: "1 type", "2 types". The noun is in the singular and has a
// regular plural.
func Count[N int | int64 | uint | uint32 | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Empty is the error for a file of 0 bytes where something else is due, such as "an ELF file". It
// does not name the file.
func Empty(due string) error {
	return fmt.Errorf("empty (0 bytes), where %s is due: the step that wrote it failed, or its disk "+
		"was full; make it again", due)
}
