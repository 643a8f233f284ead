package elf

import (
	"bytes"
	"strconv"
	"strings"
	"unsafe"
)

// maxName is the length of the longest name that is read, in bytes. It bounds the time that a
// hostile table without NUL bytes can take.
const maxName = 1 << 16

// stringAt returns the NUL-terminated string at an offset of a string table (SHT_STRTAB), which
// shares the table's memory. ok is false if the offset is out of range or the string does not end.
func stringAt(tab []byte, off uint32) (s string, ok bool) {
	if off == 0 && len(tab) == 0 {
		return "", true
	}
	if int64(off) >= int64(len(tab)) {
		return "", false
	}
	n := bytes.IndexByte(tab[off:min(int64(off)+maxName+1, int64(len(tab)))], 0)
	if n < 0 {
		return "", false
	}
	return unsafe.String(unsafe.SliceData(tab[off:]), n), true
}

// allStringsEnd reports whether every string of a table ends, the longest after at most maxName
// bytes. Then names need not be checked one by one.
func allStringsEnd(tab []byte) bool {
	for len(tab) > 0 {
		end := bytes.LastIndexByte(tab[:min(maxName, len(tab))], 0)
		if end < 0 {
			return false
		}
		tab = tab[end+1:]
	}
	return true
}

// printable returns a name for use in an error: quoted if it has characters that cannot be printed.
func printable(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}
