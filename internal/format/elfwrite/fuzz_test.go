package elfwrite

import (
	"bytes"
	stdelf "debug/elf"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

func FuzzEdit(f *testing.F) {
	for p, data := range programtest.Seeds(f, "../elf/testdata/machines/*.gz") {
		f.Add(data, []byte("data"), p[len(p)-5]%2 == 0)
	}
	f.Fuzz(func(t *testing.T, data, content []byte, remove bool) {
		in, err := elf.Parse("fuzz", data)
		if err != nil {
			return
		}
		var removed []string
		if remove {
			removed = []string{".comment", ".debug_str", ".strtab"}
		}
		sections := []Section{{Name: ".BTF", Data: content, Align: 4},
			{Name: ".debug_line", Data: content}}
		out, err := edit(in, removed, sections...)
		if err != nil {
			return
		}
		if len(out) > 2*len(data)+2*len(content)+2<<20 {
			t.Errorf("%d bytes of %d", len(out), len(data))
		}
		again, err := elf.Parse("fuzz", out)
		if err != nil {
			t.Fatalf("the output cannot be read: %v", err)
		}
		for _, s := range sections {
			if got := again.SectionsNamed(s.Name); len(got) != 1 || !bytes.Equal(got[0].Raw(), s.Data) {
				t.Errorf("the section %s is not in the output", s.Name)
			}
		}
		for i, s := range in.Sections {
			switch s.Name {
			case ".BTF", ".debug_line", ".comment", ".debug_str", ".strtab":
			default:
				inHeader := s.Offset < 64 // the ELF header has changed
				if s.Type != stdelf.SHT_STRTAB && !inHeader && i < len(again.Sections) &&
					!bytes.Equal(s.Raw(), again.Sections[i].Raw()) {
					t.Errorf("content of section %d (%s) changed", i, s.Name)
				}
			}
		}
		if twice, err := edit(again, removed, sections...); err != nil || !bytes.Equal(twice, out) {
			t.Errorf("the same edit again changes the file: %v", err)
		}
	})
}
