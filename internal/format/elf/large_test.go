package elf

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// A large section that is relocated has its own memory; one that isn't is part of the mapped file.
// DropPages doesn't change the content of either.
func TestLargeSections(t *testing.T) {
	dir := t.TempDir()
	source := `
	.section .debug_relocated, "", @progbits
	.quad .debug_plain + 7
	.zero 17 << 20
	.section .debug_plain, "", @progbits
	.fill 20 << 20, 1, 0x5a
	.byte 0x77
`
	must.OK(t, os.WriteFile(filepath.Join(dir, "large.s"), []byte(source), 0o666))
	programtest.Run(t, dir, "gcc", "-c", "large.s")
	f := open(t, filepath.Join(dir, "large.o"))
	relocated, plain := f.Section(".debug_relocated"), f.Section(".debug_plain")
	data := must.Get(relocated.Data())(t)
	if len(f.m.copies) != 1 || len(f.m.copies[0]) != len(data) {
		t.Errorf("%d large copies, want only that of the relocated section", len(f.m.copies))
	}
	want := must.Get(plain.Data())(t)
	for range 2 {
		if got := binary.LittleEndian.Uint64(data); got != plain.Addr+7 {
			t.Errorf("the relocated word is %#x, want %#x", got, plain.Addr+7)
		}
		if n := bytes.Count(want, []byte{0x5a}); n != 20<<20 || want[20<<20] != 0x77 {
			t.Errorf("the plain section has %d of its bytes", n)
		}
		relocated.DropPages()
		plain.DropPages()
	}
}
