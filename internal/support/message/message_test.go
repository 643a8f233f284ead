package message

import (
	"strings"
	"testing"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 types", 1: "1 type", 2: "2 types", -1: "-1 types"} {
		if got := Count(n, "type"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if got := Count(uint64(1), "byte"); got != "1 byte" {
		t.Errorf("%q", got)
	}
}

func TestPrintable(t *testing.T) {
	for name, want := range map[string]string{
		"":                       "",
		"sk_buff":                "sk_buff",
		`Option<a::B, "c">`:      `Option<a::B, "c">`,
		"größe":                  "größe",
		`a\n`:                    `a\n`,
		"a\nb\t\"c\"":            `a\nb\t"c"`,
		"\x1b[2Jx\x00\x7f":       `\x1b[2Jx\x00\x7f`,
		"\xff\xc2":               `\xff\xc2`,
		"\u009b31m\u202e\u00a0x": `\u009b31m\u202e\u00a0x`,
	} {
		if got := Printable(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

// TestAllPrintable tries each value of a byte at each position in names of fewer than 20 bytes.
func TestAllPrintable(t *testing.T) {
	for n := range 20 {
		for at := range n {
			for b := range 0x100 {
				names := strings.Repeat("~\x00", n)[:at] + string([]byte{byte(b)}) +
					strings.Repeat(" \x00", n)[:n-at-1]
				want := b == 0 || b >= ' ' && b <= '~'
				if got := AllPrintable(names); got != want {
					t.Errorf("%q: %v", names, got)
				}
			}
		}
	}
}

func TestEmpty(t *testing.T) {
	const want = "empty file, expected an ELF file: the step that wrote it failed, or its " +
		"disk was full; make it again"
	if got := Empty("an ELF file").Error(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
