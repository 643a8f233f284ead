package elfwrite

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

const source = `
struct point { int x, y; } origin = { 1, 2 };
__attribute__((section(".kept"))) const char note[] = "kept";
int main(void) { return origin.x - 1; }
`

// build compiles the source.
func build(t *testing.T, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	c := filepath.Join(dir, "x.c")
	must.OK(t, os.WriteFile(c, []byte(source), 0o666))
	out := filepath.Join(dir, "x")
	programtest.Run(t, "", "gcc", append(flags, "-o", out, c)...)
	return out
}

// replaced returns the file with the given sections added or replaced.
func replaced(t *testing.T, path string, sections ...Section) []byte {
	t.Helper()
	f := must.Get(elf.Open(path))(t)
	defer f.Close()
	out := must.Get(edit(f, nil, sections...))(t)
	return out
}

// edit returns the file without the sections in removed, and with the given sections set.
func edit(f *elf.File, removed []string, sections ...Section) ([]byte, error) {
	e, err := NewEdit(f)
	if err != nil {
		return nil, err
	}
	for _, name := range removed {
		if err := e.Remove(name); err != nil {
			return nil, err
		}
	}
	for _, s := range sections {
		if err := e.Set(s); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	err = e.Write(&out)
	return out.Bytes(), err
}

func TestSet(t *testing.T) {
	first := Section{Name: ".BTF", Data: someBTF(t, binary.LittleEndian), Align: 4}
	base := Section{Name: ".BTF.base", Data: []byte("base of it"), Align: 8}
	second := Section{Name: ".BTF", Data: bytes.Repeat([]byte("other"), 1000), Align: 4}
	for _, flags := range [][]string{{"-g", "-c"}, {"-g", "-c", "-m32"}, {"-g"}, {"-static", "-s"}} {
		t.Run(strings.Join(flags, ""), func(t *testing.T) {
			path := build(t, flags...)
			before := readSections(t, path)
			once := replaced(t, path, first, base)
			checkSections(t, once, []Section{first, base})
			oncePath := writeFile(t, once)
			sameSections(t, before, readSections(t, oncePath), ".BTF", ".BTF.base")
			readelf(t, oncePath)
			if again := replaced(t, oncePath, first, base); !bytes.Equal(again, once) {
				t.Error("setting the same sections again changes the file")
			}
			twice := replaced(t, oncePath, second)
			checkSections(t, twice, []Section{second, base})
			twicePath := writeFile(t, twice)
			sameSections(t, before, readSections(t, twicePath), ".BTF", ".BTF.base")
			readelf(t, twicePath)
			// GNU objcopy reads the same section, and can write the file.
			dump := filepath.Join(t.TempDir(), "dump")
			programtest.Run(t, "", "objcopy", "-O", "binary", "--only-section=.BTF",
				"--set-section-flags=.BTF=alloc",
				twicePath, dump)
			if got, err := os.ReadFile(dump); err != nil || !bytes.Equal(got, second.Data) {
				t.Errorf("objcopy finds %d bytes, want %d: %v", len(got), len(second.Data), err)
			}
			programtest.Run(t, "", "strip", "-g", "-o", dump, twicePath)
			if flags[len(flags)-1] != "-c" && flags[len(flags)-1] != "-m32" {
				must.OK(t, os.Chmod(twicePath, 0o777))
				if err := exec.Command(twicePath).Run(); err != nil {
					t.Errorf("the program no longer runs: %v", err)
				}
			}
		})
	}
}

// readSections returns the header and the content of each section, by index.
func readSections(t *testing.T, path string) []stdelf.SectionHeader {
	t.Helper()
	f := must.Get(stdelf.Open(path))(t)
	defer f.Close()
	var out []stdelf.SectionHeader
	for _, s := range f.Sections {
		out = append(out, s.SectionHeader)
	}
	return out
}

// sameSections checks that the headers in before are unchanged in after, except for that of the
// section name table, and that the added sections follow them.
func sameSections(t *testing.T, before, after []stdelf.SectionHeader, added ...string) {
	t.Helper()
	if len(after) != len(before)+len(added) {
		t.Fatalf("%d sections, want %d", len(after), len(before)+len(added))
	}
	for i, b := range before {
		if b.Name != ".shstrtab" && b != after[i] {
			t.Errorf("section %d: %+v, was %+v", i, after[i], b)
		}
	}
	for i, name := range added {
		if after[len(before)+i].Name != name {
			t.Errorf("section %d is %s, want %s", len(before)+i, after[len(before)+i].Name, name)
		}
	}
}

// TestSetForeign embeds BTF into files of other classes and byte orders, and into files from other
// compilers: clang uses one table for section names and symbol names.
func TestSetForeign(t *testing.T) {
	for path, data := range programtest.Seeds(t, "../elf/testdata/machines/*.o.gz") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			plain := writeFile(t, data)
			sec := Section{Name: ".BTF", Data: []byte("some data"), Align: 4}
			out := replaced(t, plain, sec)
			checkSections(t, out, []Section{sec})
			a, err := stdelf.Open(plain)
			must.OK(t, err)
			defer a.Close()
			b, err := stdelf.NewFile(bytes.NewReader(out))
			must.OK(t, err)
			want, err := a.Symbols()
			must.OK(t, err)
			got, err := b.Symbols()
			if err != nil || len(got) != len(want) {
				t.Fatalf("%d symbols, want %d: %v", len(got), len(want), err)
			}
			for i := range got {
				if got[i] != want[i] {
					t.Errorf("symbol %+v, was %+v", got[i], want[i])
				}
			}
			for i, s := range a.Sections {
				x, _ := s.Data()
				y, _ := b.Sections[i].Data()
				if s.Type != stdelf.SHT_STRTAB && !bytes.Equal(x, y) {
					t.Errorf("content of %s changed", s.Name)
				}
			}
		})
	}
}

func TestEditErrors(t *testing.T) {
	object := build(t, "-c", "-g")
	exe := build(t, "-g")
	split := filepath.Join(t.TempDir(), "debug")
	programtest.Run(t, "", "objcopy", "--only-keep-debug", exe, split)
	for _, tt := range []struct {
		path, removed string
		section       Section
		want          string
	}{
		{object, "", Section{Name: ".BTF", Align: 3}, "alignment"},
		{object, "", Section{Name: ".debug_info"}, "has relocations"},
		{object, ".debug_info", Section{Name: ".BTF"}, "has relocations"},
		{object, "", Section{Name: ".bss"}, "SHT_NOBITS"},
		{split, "", Section{Name: ".kept"}, "SHT_NOBITS"},
		{object, "", Section{Name: ".shstrtab"}, "cannot be replaced"},
		{exe, "", Section{Name: ".kept", Data: []byte("new")}, "from 5 to 3 bytes"},
		{exe, ".kept", Section{Name: ".BTF"}, "cannot be removed"},
		{exe, "", Section{Name: ".BTF", Alloc: true}, "cannot be added"},
	} {
		f, err := elf.Open(tt.path)
		must.OK(t, err)
		out, err := edit(f, []string{tt.removed}, tt.section)
		if err == nil || !strings.Contains(err.Error(), tt.want) ||
			!strings.HasPrefix(err.Error(), tt.path+": ") || len(out) > 0 {
			t.Errorf("error %v, want %q; %d bytes written", err, tt.want, len(out))
		}
		f.Close()
	}
}

// TestPatch replaces a section of a program with one of the same size. Nothing else changes, and
// the program runs with the new data.
func TestPatch(t *testing.T) {
	path := build(t, "-g")
	out := replaced(t, path, Section{Name: ".kept", Data: []byte("new!\x00")})
	old := must.Get(os.ReadFile(path))(t)
	if want := bytes.Replace(old, []byte("kept\x00"), []byte("new!\x00"), 1); !bytes.Equal(out, want) {
		t.Error("more than the section has changed")
	}
}

// TestSetNameless adds a section to a file whose sections have no names.
func TestSetNameless(t *testing.T) {
	o := &File{AddrSize: 8, Order: binary.LittleEndian, Machine: uint16(stdelf.EM_X86_64),
		Sections: []Section{{Name: ".a", Data: []byte("a")}}}
	data := must.Get(o.Bytes())(t)
	le := binary.LittleEndian
	table := data[le.Uint64(data[40:]):]
	for i := range 4 {
		le.PutUint32(table[64*i:], 0)
	}
	le.PutUint64(table[64*3+32:], 0) // size of the name table
	section := Section{Name: ".BTF", Data: []byte("data"), Align: 4}
	out := replaced(t, writeFile(t, data), section)
	checkSections(t, out, []Section{section})
	f := must.Get(elf.Parse("x", out))(t)
	if n := len(f.SectionsNamed(".BTF")); n != 1 {
		t.Errorf("%d sections are named .BTF", n)
	}
}

// TestPatchMovesNothing patches a section of a file with a gap. Set would close the gap.
func TestPatchMovesNothing(t *testing.T) {
	o := &File{AddrSize: 8, Order: binary.LittleEndian, Machine: uint16(stdelf.EM_X86_64),
		Sections: []Section{{Name: ".a", Data: []byte("first")}, {Name: ".gap", Data: make([]byte, 100)},
			{Name: ".c", Data: []byte("third")}}}
	data, err := o.Bytes()
	must.OK(t, err)
	le := binary.LittleEndian
	le.PutUint64(data[le.Uint64(data[40:])+64*2+32:], 10) // the size of .gap
	f, err := elf.Parse("x", data)
	must.OK(t, err)
	patch := func(name, content string) ([]byte, error) {
		e, err := NewEdit(f)
		must.OK(t, err)
		if err := e.Patch(name, []byte(content)); err != nil {
			return nil, err
		}
		var out bytes.Buffer
		err = e.Write(&out)
		return out.Bytes(), err
	}
	out, err := patch(".a", "FIRST")
	if want := bytes.Replace(data, []byte("first"), []byte("FIRST"), 1); err != nil ||
		!bytes.Equal(out, want) {
		t.Errorf("%d bytes of %d, more than the section has changed (%v)", len(out), len(data), err)
	}
	if set, err := edit(f, nil, Section{Name: ".a", Data: []byte("FIRST")}); err != nil ||
		len(set) >= len(data) {
		t.Errorf("Set leaves the gap: %d bytes of %d (%v)", len(set), len(data), err)
	}
	for _, c := range []struct{ name, content, want string }{
		{".a", "longer", "has 5 bytes and cannot be replaced with 6"},
		{".none", "", "x: no section .none"},
	} {
		if _, err := patch(c.name, c.content); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
