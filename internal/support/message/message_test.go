package message

import "testing"

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

func TestEmpty(t *testing.T) {
	const want = "empty file, expected an ELF file: the step that wrote it failed, or its " +
		"disk was full; make it again"
	if got := Empty("an ELF file").Error(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
