package language

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for list, want := range map[string][]uint64{
		"": nil, "rust": {0x1c}, " Rust ,zig": {0x1c, 0x27}, "c": {0x02},
		"c++": {0x04, 0x19, 0x1a, 0x21, 0x2a, 0x2b, 0x3a}, "asm": {0x31, 0x8001},
	} {
		found, err := Parse(list)
		if err != nil || !slices.Equal(slices.Sorted(maps.Keys(found)), want) {
			t.Errorf("%q: %v, %v", list, found, err)
		}
	}
	if _, err := Parse("rust,klingon"); err == nil || !strings.Contains(err.Error(),
		`unknown language "klingon"; the known languages are ada83, `) {
		t.Error(err)
	}
}

func TestOf(t *testing.T) {
	for code, want := range map[uint64]string{0x02: "", 0x2c: "", 0x1c: "rust", 0x04: "c++",
		0x2b: "c++", 0xffff: ""} {
		if got := Of(code); got != want {
			t.Errorf("%#x: %q, want %q", code, got, want)
		}
	}
}
