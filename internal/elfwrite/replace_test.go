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

	"github.com/rules-btf/rules_btf/internal/elf"
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
	if err := os.WriteFile(c, []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "x")
	run(t, "gcc", append(flags, "-o", out, c)...)
	return out
}

// replaced returns the file with sections.
func replaced(t *testing.T, path string, sections ...Section) []byte {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out bytes.Buffer
	if err := ReplaceSections(&out, f, sections); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestReplaceSections(t *testing.T) {
	first := Section{".BTF", someBTF(t, binary.LittleEndian), 4}
	base := Section{".BTF.base", []byte("base of it"), 8}
	second := Section{".BTF", bytes.Repeat([]byte("other"), 1000), 4}
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
				t.Error("the same sections again give another file")
			}
			twice := replaced(t, oncePath, second)
			checkSections(t, twice, []Section{second, base})
			twicePath := writeFile(t, twice)
			sameSections(t, before, readSections(t, twicePath), ".BTF", ".BTF.base")
			readelf(t, twicePath)
			// GNU objcopy reads the same section, and can write the file.
			dump := filepath.Join(t.TempDir(), "dump")
			run(t, "objcopy", "-O", "binary", "--only-section=.BTF", "--set-section-flags=.BTF=alloc",
				twicePath, dump)
			if got, err := os.ReadFile(dump); err != nil || !bytes.Equal(got, second.Data) {
				t.Errorf("objcopy finds %d bytes, want %d: %v", len(got), len(second.Data), err)
			}
			run(t, "strip", "-g", "-o", dump, twicePath)
			if flags[len(flags)-1] != "-c" && flags[len(flags)-1] != "-m32" {
				if err := os.Chmod(twicePath, 0o777); err != nil {
					t.Fatal(err)
				}
				if err := exec.Command(twicePath).Run(); err != nil {
					t.Errorf("the program no longer runs: %v", err)
				}
			}
		})
	}
}

// readSections returns header and content of each section by index.
func readSections(t *testing.T, path string) []stdelf.SectionHeader {
	t.Helper()
	f, err := stdelf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []stdelf.SectionHeader
	for _, s := range f.Sections {
		out = append(out, s.SectionHeader)
	}
	return out
}

// sameSections wants all headers of before in after, but for the section name table and what was
// added.
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

// TestReplaceForeign embeds into files of other classes, orders and writers: clang shares one table
// between section and symbol names.
func TestReplaceForeign(t *testing.T) {
	paths, _ := filepath.Glob("../elf/testdata/machines/*.o.gz")
	if len(paths) == 0 {
		t.Fatal("no objects")
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			plain := writeFile(t, []byte(gunzip(t, path)))
			sec := Section{".BTF", []byte("some data"), 4}
			out := replaced(t, plain, sec)
			checkSections(t, out, []Section{sec})
			a, err := stdelf.Open(plain)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			b, err := stdelf.NewFile(bytes.NewReader(out))
			if err != nil {
				t.Fatal(err)
			}
			want, err := a.Symbols()
			if err != nil {
				t.Fatal(err)
			}
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

func gunzip(t *testing.T, path string) string {
	t.Helper()
	return run(t, "gzip", "-dc", path)
}

func TestReplaceErrors(t *testing.T) {
	object := build(t, "-c", "-g")
	exe := build(t, "-g")
	data, err := os.ReadFile(object)
	if err != nil {
		t.Fatal(err)
	}
	signed := writeFile(t, append(data, moduleSignature...))
	for _, tt := range []struct {
		path string
		secs []Section
		want string
	}{
		{object, []Section{{".BTF", nil, 1}, {".BTF", nil, 1}}, "given twice"},
		{object, []Section{{".BTF", nil, 3}}, "alignment"},
		{object, []Section{{".debug_info", nil, 1}}, "has relocations"},
		{object, []Section{{".bss", nil, 1}}, "SHT_NOBITS"},
		{object, []Section{{".shstrtab", nil, 1}}, "cannot be replaced"},
		{exe, []Section{{".rodata", nil, 1}}, "loaded with a segment"},
		{signed, []Section{{".BTF", nil, 1}}, "signed kernel module"},
	} {
		f, err := elf.Open(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err = ReplaceSections(&out, f, tt.secs)
		if err == nil || !strings.Contains(err.Error(), tt.want) ||
			!strings.HasPrefix(err.Error(), tt.path+": ") || out.Len() > 0 {
			t.Errorf("error %v, want %q; %d bytes written", err, tt.want, out.Len())
		}
		f.Close()
	}
}

func FuzzReplaceSections(f *testing.F) {
	paths, _ := filepath.Glob("../elf/testdata/machines/*.o.gz")
	for _, p := range paths {
		out, err := exec.Command("gzip", "-dc", p).Output()
		if err == nil {
			f.Add(out)
		}
	}
	section := Section{".BTF", []byte("data"), 4}
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := elf.Parse("fuzz", data)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := ReplaceSections(&out, in, []Section{section}); err != nil {
			return
		}
		again, err := elf.Parse("fuzz", out.Bytes())
		if err != nil {
			t.Fatalf("the output cannot be read: %v", err)
		}
		if s := again.Section(".BTF"); s == nil || !bytes.Equal(s.Raw(), section.Data) {
			t.Error("the section is not in the output")
		}
	})
}

// TestReplaceNameless adds to a file whose sections have no names.
func TestReplaceNameless(t *testing.T) {
	o := &Object{AddrSize: 8, Order: binary.LittleEndian, Machine: uint16(stdelf.EM_X86_64),
		Sections: []Section{{".a", []byte("a"), 1}}}
	data, err := o.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	table := data[le.Uint64(data[40:]):]
	for i := range 4 {
		le.PutUint32(table[64*i:], 0)
	}
	le.PutUint64(table[64*3+32:], 0) // size of the name table
	section := Section{".BTF", []byte("data"), 4}
	out := replaced(t, writeFile(t, data), section)
	checkSections(t, out, []Section{section})
	f, err := elf.Parse("x", out)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(f.SectionsNamed(".BTF")); n != 1 {
		t.Errorf("%d sections are named .BTF", n)
	}
}
