package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestPointersOf32Bits reads the BTF of a 32-bit program without the type long: raw, where the size
// of a pointer is a guess, and in an ELF file, which states it.
func TestPointersOf32Bits(t *testing.T) {
	dir := t.TempDir()
	_, b := writeBTF(t, dir, "raw", nil, func(b *btf.Builder) {
		b.Ref(btf.KindPtr, "", 2)
		b.Composite(btf.KindStruct, "list", 4, false, btf.Member{NameOff: b.Name("next"), Type: 1})
	})
	path := filepath.Join(dir, "elf")
	raw := must.Get(os.ReadFile(filepath.Join(dir, "raw")))(t)
	write(t, path, filetest.Bytes(t, elfwrite.File{AddrSize: 4, Order: b.Order, Machine: 3,
		Sections: []elfwrite.Section{{Name: ".BTF", Data: raw}}}))
	for _, verb := range []string{"verify --for=all", "dump --format=c"} {
		for name, warning := range map[string]string{"elf": "", "raw": "is taken to be 4 bytes"} {
			code, stdout, stderr := btfdedup(append(strings.Fields(verb), filepath.Join(dir, name))...)
			if code != 0 || !strings.Contains(stderr, warning) || (warning == "") != (stderr == "") {
				t.Errorf("%s %s: exit code %d, %s%s", verb, name, code, stdout, stderr)
			}
			if strings.Contains(stdout, "__attribute__((packed") {
				t.Errorf("%s %s: %s", verb, name, stdout)
			}
		}
	}
}
