package elf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A large section that is relocated has memory of its own, and one that isn't is the mapped file;
// what they hold doesn't change when memory is let go.
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
	if err := os.WriteFile(filepath.Join(dir, "large.s"), []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "gcc", "-c", "large.s")
	f := open(t, filepath.Join(dir, "large.o"))
	relocated, plain := f.Section(".debug_relocated"), f.Section(".debug_plain")
	data, err := relocated.Data()
	if err != nil {
		t.Fatal(err)
	}
	if len(f.m.copies) != 1 || len(f.m.copies[0]) != len(data) {
		t.Errorf("%d large copies, want that of the section alone", len(f.m.copies))
	}
	want, err := plain.Data()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := binary.LittleEndian.Uint64(data); got != plain.Addr+7 {
			t.Errorf("the relocated word is %#x, want %#x", got, plain.Addr+7)
		}
		if n := bytes.Count(want, []byte{0x5a}); n != 20<<20 || want[20<<20] != 0x77 {
			t.Errorf("the plain section has %d of its bytes", n)
		}
		relocated.Release()
		plain.Release()
	}
}

// A large section that several threads read and relocate holds what it holds when one does: also
// where the relocations are not in order, or one of them is no address, or is wrong.
func TestLoadInParts(t *testing.T) {
	const words = 3 * minPart
	tests := []struct {
		name, from, to string
		swap           [2]int // relocations, by index
		parts          bool
		err            string
	}{
		{name: "addresses", parts: true},
		{name: "not in order", swap: [2]int{0, words - 1}},
		{name: "parts not in order", swap: [2]int{words / 3, words / 3 * 2}},
		{name: "twice", from: ".quad f + 5\n", to: ".reloc 8 * 6, R_X86_64_32, f + 9\n.quad f + 5\n",
			parts: true},
		{name: "relative", from: ".quad f + 5\n", to: ".quad f + 5 - .\n"},
		{name: "out of range", from: ".quad f + 5\n", to: ".long f - 1000000000\n.long 1\n",
			err: "does not fit 32 bits"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s strings.Builder
			s.WriteString(".text\n.globl f\nf: nop\n.section .debug_x, \"\", @progbits\n")
			for i := range words {
				line := fmt.Sprintf(".quad f + %d\n", i)
				if line == tt.from {
					line = tt.to
				}
				s.WriteString(line)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "x.s"), []byte(s.String()), 0o666); err != nil {
				t.Fatal(err)
			}
			run(t, dir, "gcc", "-c", "x.s")
			object := filepath.Join(dir, "x.o")
			if tt.swap != [2]int{} {
				swapRelocations(t, object, ".rela.debug_x", tt.swap)
			}
			one, several := open(t, object), open(t, object)
			one.Threads, several.Threads = 1, 3
			want, wantErr := one.Section(".debug_x").Data()
			got, err := several.Section(".debug_x").Data()
			if tt.err != "" {
				if err == nil || wantErr == nil || err.Error() != wantErr.Error() ||
					!strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v on several threads, %v on one, want %q", err, wantErr, tt.err)
				}
				return
			}
			if err != nil || wantErr != nil {
				t.Fatal(err, wantErr)
			}
			if !bytes.Equal(got, want) {
				t.Error("several threads make other bytes than one")
			}
			if parts := several.Section(".debug_x").loadInParts() != nil; parts != tt.parts {
				t.Errorf("loaded in parts: %v, want %v", parts, tt.parts)
			}
		})
	}
}

// swapRelocations swaps two entries of a relocation section, given by their index.
func swapRelocations(t *testing.T, path, section string, swap [2]int) {
	t.Helper()
	at := open(t, path).Section(section)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	entries := data[at.Offset : at.Offset+at.Size]
	a, b := entries[swap[0]*rela64Size:][:rela64Size], entries[swap[1]*rela64Size:][:rela64Size]
	var keep [rela64Size]byte
	copy(keep[:], a)
	copy(a, b)
	copy(b, keep[:])
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}
