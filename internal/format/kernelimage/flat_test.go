package kernelimage

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

// TestFindBTF looks for the BTF of the kernel among other bytes.
func TestFindBTF(t *testing.T) {
	big, little := string(blob(t, binary.BigEndian, 4)), string(blob(t, binary.LittleEndian, 3))
	one := string(blob(t, binary.LittleEndian, 1))
	const header = "\x9f\xeb\x01\x00\x18\x00\x00\x00"
	// The record begins with the offset of the name, and the kind.
	badKind := strings.Replace(one, "\x01\x00\x00\x00\x00\x00\x00\x01",
		"\x01\x00\x00\x00\x00\x00\x00\x1f", 1)
	for _, c := range []struct {
		name  string
		image []byte
		want  string
		err   string
	}{
		{"none", flat("no BTF"), "", ""},
		{"empty", nil, "", ""},
		{"one", flat("x", one, "x"), one, ""},
		{"at the end", flat(one), one, ""},
		{"the larger one, first", flat(little, one), little, ""},
		{"the larger one, last", flat("xxx", one, "xx", little, "xxx"), little, ""},
		{"big-endian", flat("x", one, "x", big, "x", one), big, ""},
		{"headers in between", flat(header, "\x9f\xeb", header, one, header), one, ""},
		{"in what looks like a header", flat("\x9f\xeb\x01" + one), one, ""},
		{"beside one of an unknown kind", flat(badKind, one), one, ""},
		{"an unknown kind alone", flat("xyz", badKind), "", "offset 0x43 of the kernel: BTF type [1]"},
		{"cut off", flat(one[:len(one)-1]), "", ""},
		{"many", flat(strings.Repeat(badKind, 65)), "", "more than 64 places"},
	} {
		got, err := FindBTF(c.image)
		if string(got) != c.want || (err != nil) != (c.err != "") ||
			err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v; want %q, %q", c.name, got, err, c.want, c.err)
		}
	}
}

// TestStarts compares the results with those of a plain search.
func TestStarts(t *testing.T) {
	image := bytes.Repeat([]byte("\x9f\xeb\x01\x00.\xeb\x9f\x01\x00\x9f\xeb\x01\x01"), 3)
	for _, magic := range []string{"\x9f\xeb", "\xeb\x9f"} {
		s := newStarts(image, magic[0], magic[1])
		for at := range image {
			want := len(image)
			if i := strings.Index(string(image[at:]), magic+"\x01\x00"); i >= 0 {
				want = at + i
			}
			if got := s.startFrom(at); got != want {
				t.Errorf("%q from %d: %d, want %d", magic, at, got, want)
			}
		}
	}
}
