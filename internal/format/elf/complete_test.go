package elf

import (
	stdelf "debug/elf"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

const alloc = stdelf.SHF_ALLOC

// symtab64 returns a symbol table with the null symbol and one symbol for each section index.
func symtab64(sections ...uint16) []byte {
	table := make([]byte, symSize64)
	for i, shndx := range sections {
		s := make([]byte, symSize64)
		s[0], s[4] = 1, byte(stdelf.STT_OBJECT)
		binary.LittleEndian.PutUint16(s[6:], shndx)
		binary.LittleEndian.PutUint64(s[8:], uint64(i))
		table = append(table, s...)
	}
	return table
}

// pair returns a stripped file and its debug file. Their sections have different indexes.
func pair() (stripped, debug []testSection) {
	symbols := testSection{name: ".symtab", typ: stdelf.SHT_SYMTAB, link: 5, data: symtab64(2, 3)}
	strings := testSection{name: ".strtab", typ: stdelf.SHT_STRTAB, data: []byte("\x00x\x00")}
	stripped = []testSection{
		{name: ".text", typ: stdelf.SHT_PROGBITS, flags: alloc, addr: 0x1000, data: []byte("code")},
		{name: ".data", typ: stdelf.SHT_PROGBITS, flags: alloc, addr: 0x2000, data: []byte("data")},
		{name: ".bss", typ: stdelf.SHT_NOBITS, flags: alloc, addr: 0x3000, size: 8},
		symbols, strings,
		{name: ".gnu_debuglink", typ: stdelf.SHT_PROGBITS, data: []byte("link")},
		{name: ".BTF", typ: stdelf.SHT_PROGBITS, data: []byte("types")},
	}
	debug = []testSection{
		{name: ".text", typ: stdelf.SHT_NOBITS, flags: alloc, addr: 0x1000, size: 4},
		{name: ".debug_info", typ: stdelf.SHT_PROGBITS, data: []byte("info")},
		{name: ".data", typ: stdelf.SHT_NOBITS, flags: alloc, addr: 0x2000, size: 4},
		{name: ".bss", typ: stdelf.SHT_NOBITS, flags: alloc, addr: 0x3000, size: 8},
		{name: ".symtab", typ: stdelf.SHT_NOBITS, link: 6, size: 72},
		{name: ".strtab", typ: stdelf.SHT_NOBITS, size: 3},
	}
	return stripped, debug
}

func completed(t *testing.T, stripped, debug []testSection) (*File, error) {
	t.Helper()
	parse := func(name string, sections []testSection) *File {
		f := must.Get(Parse(name, buildELF(stdelf.ET_EXEC, stdelf.EM_X86_64, sections)))(t)
		return f
	}
	f := parse("debug", debug)
	return f, f.Complete(parse("stripped", stripped))
}

// contents returns the sections and symbols of a file as text.
func contents(f *File) (string, error) {
	var b strings.Builder
	for i, s := range f.Sections[1:] {
		data, err := s.Data()
		if err != nil || s.Index != i+1 {
			return "", fmt.Errorf("section %d with index %d: %v", i+1, s.Index, err)
		}
		if s.Name != ".symtab" && s.Name != ".strtab" && s.Name != ".shstrtab" {
			fmt.Fprintf(&b, "%s=%s ", s.Name, data)
		}
	}
	symbols, err := f.Symbols()
	if err != nil {
		return "", err
	}
	for i := range symbols.List {
		s := &symbols.List[i]
		fmt.Fprintf(&b, "%s in %s ", symbols.Name(s), f.Sections[s.Section].Name)
	}
	return strings.TrimSpace(b.String()), nil
}

// TestComplete joins a stripped file and its debug file. The symbol table is in one of them, and
// each may have sections that the other lacks.
func TestComplete(t *testing.T) {
	const both = ".text=code .debug_info=info .data=data .bss= "
	for _, tt := range []struct {
		name   string
		change func(stripped, debug []testSection) (s, d []testSection)
		want   string
	}{
		{"symbols of the stripped file", nil, both + ".BTF=types x in .data x in .bss"},
		{"symbols of the debug file", func(s, d []testSection) ([]testSection, []testSection) {
			d[4] = testSection{name: ".symtab", typ: stdelf.SHT_SYMTAB, link: 6, data: symtab64(1)}
			d[5] = testSection{name: ".strtab", typ: stdelf.SHT_STRTAB, data: []byte("\x00y\x00")}
			return s, d
		}, both + ".BTF=types y in .text"},
		{"no symbols in the debug file", func(s, d []testSection) ([]testSection, []testSection) {
			return s, d[:4]
		}, both + ".BTF=types x in .data x in .bss"},
		{"contents in the debug file", func(s, d []testSection) ([]testSection, []testSection) {
			d = append(d, testSection{name: ".BTF", typ: stdelf.SHT_PROGBITS, data: []byte("own")})
			return s, d
		}, both + ".BTF=own x in .data x in .bss"},
		{"a file that isn't stripped", func(s, d []testSection) ([]testSection, []testSection) {
			s[6] = testSection{name: ".debug_str", typ: stdelf.SHT_PROGBITS, data: []byte("others")}
			return s, d
		}, both + "x in .data x in .bss"},
		{"another address", func(s, d []testSection) ([]testSection, []testSection) {
			s[1].addr = 0x2004
			return s, d
		}, "debug: section 3 (.data): not the debug file of stripped: it has 4 bytes at 0x2000, not " +
			"4 bytes at 0x2004"},
		{"another size", func(s, d []testSection) ([]testSection, []testSection) {
			d[0].size = 5
			return s, d
		}, "debug: section 1 (.text): not the debug file of stripped: it has 5 bytes"},
		{"nothing in the stripped file", func(s, d []testSection) ([]testSection, []testSection) {
			return s[:3], d
		}, "debug: section 5 (.symtab): no contents: this is a separate debug file; pass the stripped"},
	} {
		stripped, debug := pair()
		if tt.change != nil {
			stripped, debug = tt.change(stripped, debug)
		}
		f, err := completed(t, stripped, debug)
		got := ""
		if err == nil {
			got, err = contents(f)
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s:\n%s, want\n%s", tt.name, got, tt.want)
		}
	}
	stripped, debug := pair()
	f, err := Parse("debug", buildELF(stdelf.ET_EXEC, stdelf.EM_X86_64, debug))
	must.OK(t, err)
	other, err := Parse("other", buildELF(stdelf.ET_EXEC, stdelf.EM_AARCH64, stripped))
	must.OK(t, err)
	err = f.Complete(other)
	if err == nil || !strings.Contains(err.Error(), "not the debug file of") {
		t.Errorf("another machine: %v", err)
	}
}

// TestBuildID reads notes, one of which holds the build-id.
func TestBuildID(t *testing.T) {
	note := func(name, desc string, typ uint32, align int) string {
		le := binary.LittleEndian
		b := le.AppendUint32(nil, uint32(len(name)))
		b = le.AppendUint32(b, uint32(len(desc)))
		b = append(le.AppendUint32(b, typ), name...)
		for _, part := range []string{"", desc} {
			for b = append(b, part...); len(b)%align != 0; {
				b = append(b, 0)
			}
		}
		return string(b)
	}
	for _, tt := range []struct {
		name, notes string
		align       uint64
		want        string
	}{
		{"alone", note("GNU\x00", "id", 3, 4), 4, "id"},
		{"after others", note("Linux\x00", "abcde", 0, 4) + note("GNU\x00", "x", 1, 4) +
			note("GNU\x00", "\x01\x02", 3, 4), 4, "\x01\x02"},
		{"aligned to 8", note("GNU\x00", "01234567", 5, 8) + note("GNU\x00", "id", 3, 8), 8, "id"},
		{"another name", note("GNX\x00", "id", 3, 4), 4, ""},
		{"cut off", note("GNU\x00", "0123456789", 3, 4)[:20], 4, ""},
		{"too large", "\x04\x00\x00\x00\xff\xff\xff\xff\x03\x00\x00\x00GNU\x00id", 4, ""},
		{"a large name", "\xff\xff\xff\xff\x04\x00\x00\x00\x03\x00\x00\x00GNU\x00id", 4, ""},
		{"empty", note("GNU\x00", "", 3, 4), 4, ""},
		{"nothing", "", 4, ""},
	} {
		f := must.Get(Parse("x", buildELF(stdelf.ET_EXEC, stdelf.EM_X86_64, []testSection{
			{name: ".note", typ: stdelf.SHT_NOTE, align: tt.align, data: []byte(tt.notes)}})))(t)
		if got := string(f.BuildID()); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// FuzzComplete joins any two files.
func FuzzComplete(f *testing.F) {
	stripped, debug := pair()
	for _, typ := range []stdelf.Type{stdelf.ET_EXEC, stdelf.ET_REL} {
		f.Add(buildELF(typ, stdelf.EM_X86_64, stripped), buildELF(typ, stdelf.EM_X86_64, debug))
	}
	f.Add(buildELF(stdelf.ET_EXEC, stdelf.EM_PPC64, stripped[:3]),
		buildELF(stdelf.ET_EXEC, stdelf.EM_PPC64, debug))
	f.Fuzz(func(t *testing.T, stripped, debug []byte) {
		s, err := Parse("stripped", stripped)
		if err != nil {
			return
		}
		d, err := Parse("debug", debug)
		if err != nil {
			return
		}
		_ = s.BuildID()
		if err := d.Complete(s); err == nil {
			exercise(d)
		}
	})
}
