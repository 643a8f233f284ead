package elf

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

const shtARMExidx = 0x70000001

// compareLinked compares every relocated section of an object with the same section of the file
// that a linker made from the object at the same addresses. It returns the number of these sections
// and of their relocations.
func compareLinked(t *testing.T, obj, linked *File) (sections, relocs int) {
	t.Helper()
	for _, s := range obj.Sections {
		if s.Plain() || s.Type == shtARMExidx { // linkers sort and complete .ARM.exidx
			continue
		}
		l := linked.Section(s.Name)
		if l == nil {
			t.Errorf("%s: not in the linked file", s.Name)
			continue
		}
		if s.Addr != l.Addr {
			t.Errorf("%s: at %#x, linked at %#x", s.Name, s.Addr, l.Addr)
		}
		got, want := content(t, s), content(t, l)
		if !bytes.Equal(got, want) {
			i := 0
			for i < len(got) && i < len(want) && got[i] == want[i] {
				i++
			}
			t.Errorf("%s: %d bytes, linked %d; they differ from offset %#x on: % x, linked % x", s.Name,
				len(got), len(want), i,
				got[i:min(i+8, len(got))], want[i:min(i+8, len(want))])
		}
		sections++
		for _, r := range s.relocs {
			a := must.Get(s.applier(r))(t)
			relocs += len(r.raw) / a.size()
		}
	}
	return sections, relocs
}

func TestRelocateLikeLinker(t *testing.T) {
	paths, _ := filepath.Glob("testdata/machines/*.o.gz")
	if len(paths) < 15 {
		t.Fatalf("only %d objects in testdata", len(paths))
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".o.gz")
		t.Run(name, func(t *testing.T) {
			obj, err := Parse(name, programtest.Gunzip(t, path))
			must.OK(t, err)
			linked, err := Parse(name, programtest.Gunzip(t, strings.TrimSuffix(path, ".o.gz")+".linked.gz"))
			must.OK(t, err)
			sections, relocs := compareLinked(t, obj, linked)
			t.Logf("%d sections, %d relocations", sections, relocs)
			if sections < 5 || relocs < 50 {
				t.Errorf("only %d sections with %d relocations compared", sections, relocs)
			}
			checkSymbols(t, obj, linked)
		})
	}
}

// checkSymbols compares the addresses of named symbols.
func checkSymbols(t *testing.T, obj, linked *File) {
	t.Helper()
	want := map[string]namedSymbol{}
	for _, s := range symbolsOf(t, linked) {
		want[s.Name] = s
	}
	checked := 0
	for _, s := range symbolsOf(t, obj) {
		if s.Type != uint8(stdelf.STT_FUNC) && s.Type != uint8(stdelf.STT_OBJECT) ||
			s.Place != InSection || strings.HasPrefix(s.Name, ".L") {
			continue
		}
		w, ok := want[s.Name]
		if !ok || w.Value != s.Value || w.Size != s.Size || w.FileIndex != s.FileIndex {
			t.Errorf("symbol %+v, linked %+v", s, w)
		}
		if sec := obj.SectionAt(s.Value); sec == nil || sec.Index != int(s.Section) {
			t.Errorf("%s: SectionAt(%#x) = %v, want section %d", s.Name, s.Value, sec, s.Section)
		}
		checked++
	}
	if checked < 4 {
		t.Errorf("only %d symbols compared", checked)
	}
}

// TestRelocateGCC compiles with gcc for several DWARF versions, and links with GNU ld.
func TestRelocateGCC(t *testing.T) {
	source := must.Get(os.ReadFile("testdata/machines/all.c"))(t)
	for _, flags := range [][]string{
		{"-gdwarf-5", "-O2"}, {"-gdwarf-4", "-O2", "-ffunction-sections"}, {"-gdwarf-3", "-O0"},
		{"-gdwarf-5", "-gdwarf64", "-O2"}, {"-m32", "-gdwarf-5", "-O2"}, {"-m32", "-gdwarf-2", "-O2"},
	} {
		t.Run(strings.Join(flags, ""), func(t *testing.T) {
			// If strings were merged, their offsets would differ from those in the object.
			path := compile(t, string(source), append(flags, "-fno-merge-debug-strings", "-fno-pic",
				"-fno-asynchronous-unwind-tables")...)
			programtest.Run(t, "", "objcopy", "--set-section-flags", ".debug_line_str=readonly,debug", path)
			obj := open(t, path)
			var script strings.Builder
			script.WriteString("SECTIONS {\n")
			for _, s := range obj.Sections {
				if s.Alloc() {
					fmt.Fprintf(&script, "%s %#x : { KEEP(*(%s)) }\n", s.Name, s.Addr, s.Name)
				}
			}
			script.WriteString("}\n")
			dir := filepath.Dir(path)
			write(t, filepath.Join(dir, "x.ld"), script.String())
			mode := "elf_x86_64"
			if obj.AddrSize == 4 {
				mode = "elf_i386"
			}
			programtest.Run(t, dir, "ld", "-m", mode, "-O0", "-T", "x.ld", "--unresolved-symbols=ignore-all",
				"-e", "0",
				"-z", "noseparate-code", "--no-relax", "-o", "x", "x.o")
			sections, relocs := compareLinked(t, obj, open(t, filepath.Join(dir, "x")))
			if sections < 4 || relocs < 30 {
				t.Errorf("only %d sections with %d relocations compared", sections, relocs)
			}
		})
	}
}

// relocated makes an x86-64 object whose section 1, .debug_x, has size bytes and the relocations in
// rel. All symbols have addresses.
func relocated(t testing.TB, size, symbols int, rel []byte) *File {
	t.Helper()
	table := make([]byte, 24*symbols)
	for i := 1; i < symbols; i++ {
		binary.LittleEndian.PutUint16(table[24*i+6:], 5) // st_shndx
		binary.LittleEndian.PutUint64(table[24*i+8:], uint64(i))
	}
	f := must.Get(Parse("x.o", buildELF(stdelf.ET_REL, stdelf.EM_X86_64, []testSection{
		{name: ".debug_x", typ: stdelf.SHT_PROGBITS, data: make([]byte, size)},
		{name: ".rela.debug_x", typ: stdelf.SHT_RELA, data: rel, info: 1, link: 3},
		{name: ".symtab", typ: stdelf.SHT_SYMTAB, data: table, link: 4},
		{name: ".strtab", typ: stdelf.SHT_STRTAB, data: []byte{0}},
		{name: ".bss", typ: stdelf.SHT_NOBITS, flags: stdelf.SHF_ALLOC, size: 64},
	})))(t)
	return f
}

// appendRela appends an Elf64_Rela.
func appendRela(rel []byte, off, sym, typ, addend uint64) []byte {
	for _, v := range []uint64{off, sym<<32 | typ, addend} {
		rel = binary.LittleEndian.AppendUint64(rel, v)
	}
	return rel
}

func TestRelocationErrors(t *testing.T) {
	for _, tt := range []struct {
		name                  string
		off, sym, typ, addend uint64
		want                  string
	}{
		{"unknown type", 0, 0, 9, 0,
			"x.o: section 1 (.debug_x): relocation at offset 0x0, machine EM_X86_64, " +
				"type 9 (R_X86_64_GOTPCREL)"},
		{"huge type", 0, 0, 0xffffffff, 0, "type 4294967295"},
		{"past the end", 1, 0, 1, 0, "past the end of the section (8 bytes)"},
		{"far past the end", ^uint64(0), 0, 1, 0, "past the end"},
		{"symbol", 0, 1, 1, 0, "uses symbol 1, but the last one is 0"},
		{"unsigned overflow", 0, 0, 10, 1 << 32, "overflows: value 0x100000000 does not fit in 32 bits"},
		{"negative", 0, 0, 10, ^uint64(0), "overflows"},
		{"signed overflow", 0, 0, 11, 1 << 31, "overflows"},
		{"signed", 4, 0, 11, ^uint64(0), ""},
		{"last byte", 7, 0, 14, 255, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rel := appendRela(nil, tt.off, tt.sym, tt.typ, tt.addend)
			_, err := relocated(t, 8, 1, rel).Section(".debug_x").Data()
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestULEBPairErrors(t *testing.T) {
	f := must.Get(Parse("riscv64", programtest.Gunzip(t, "testdata/machines/riscv64.o.gz")))(t)
	s := f.Section(".debug_rnglists")
	syms := must.Get(f.relSyms())(t)
	for _, tt := range []struct {
		name  string
		pairs [][3]uint64 // type, offset, addend
		want  string
	}{
		{"good", [][3]uint64{{60, 0, 300}, {61, 0, 100}}, ""},
		{"too big", [][3]uint64{{60, 0, 1 << 14}, {61, 0, 0}}, "overflows"},
		{"negative", [][3]uint64{{60, 0, 1}, {61, 0, 2}}, "overflows"},
		{"half", [][3]uint64{{60, 0, 1}}, "no second half"},
		{"other half", [][3]uint64{{61, 0, 1}}, "no first half"},
		{"elsewhere", [][3]uint64{{60, 0, 1}, {61, 2, 1}}, "second half"},
		{"endless", [][3]uint64{{60, 3, 1}}, "not at a ULEB128"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := []byte{0x80, 0, 1, 0x80}
			a := &applier{s: s, r: s.relocs[0], data: data, machine: relocMachines[f.Machine],
				syms: syms, order: f.Order, rela: true}
			var err error
			for _, p := range tt.pairs {
				if err == nil {
					err = a.apply(p[1], uint32(p[0]), 0, p[2])
				}
			}
			if err == nil {
				err = a.finish()
			}
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want == "" && !bytes.Equal(data, []byte{0xc8, 1, 1, 0x80}):
				t.Errorf("data % x", data)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}
