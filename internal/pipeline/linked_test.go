package pipeline

import (
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestEndless: for a struct that contains itself by value, the error says where it is in the DWARF,
// although the link checks this.
func TestEndless(t *testing.T) {
	w := programtest.NewDir(t)
	w.Write("s.s", `
	.text
	.globl f
	.type f, @function
f:	nop
	.section .debug_abbrev
	.byte 1, 0x11, 1, 0x03, 0x08, 0x13, 0x0b, 0, 0              # unit: name, language
	.byte 2, 0x13, 1, 0x03, 0x08, 0x0b, 0x0b, 0, 0              # struct: name, size
	.byte 3, 0x0d, 0, 0x03, 0x08, 0x49, 0x13, 0x38, 0x0b, 0, 0  # member: name, type, offset
	.byte 0
	.section .debug_info
begin:	.4byte end - . - 4
	.2byte 4
	.4byte 0
	.byte 8
	.byte 1
	.string "a.c"
	.byte 0x0c
s:	.byte 2
	.string "s"
	.byte 8
	.byte 3
	.string "m"
	.4byte s - begin
	.byte 0
	.byte 0
	.byte 0
end:
`)
	w.Run("gcc", "-c", "-o", "s.o", "s.s")
	for _, jobs := range []int{1, 2} {
		how := optionsFor(features.Default(), &base.Files{})
		how.Convert.Jobs = jobs
		_, err := Linked(w.Path("s.o"), how)
		want := w.Path("s.o") + ": .debug_info+0x11: type s contains itself by value; " +
			"build or copy the file again"
		if err == nil || strings.TrimSpace(err.Error()) != want {
			t.Errorf("-j%d: error %v, want %q", jobs, err, want)
		}
	}
}
