package elfwrite

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestHistory edits a file twice. The result must be the same as after the second edit alone,
// wherever the edited sections are in the original file.
func TestHistory(t *testing.T) {
	set := func(name, data string) Section { return Section{Name: name, Data: []byte(data)} }
	btf, long := set(".BTF", "BTF"), set(".BTF", strings.Repeat("long", 99))
	base := set(".BTF.base", "distilled")
	plain := build(t, "-c", "-g")
	data := writeFile(t, []byte("from objcopy"))
	middle := filepath.Join(t.TempDir(), "middle.o")
	programtest.Run(t, "", "objcopy", "--add-section=.BTF="+data, plain, middle)
	both := filepath.Join(t.TempDir(), "both.o")
	programtest.Run(t, "", "objcopy", "--add-section=.BTF="+data,
		"--add-section=.BTF.base="+data, plain, both)
	for _, path := range []string{plain, middle, both} {
		for _, tt := range []struct{ first, second []Section }{
			{[]Section{btf}, []Section{btf}},
			{[]Section{btf}, []Section{long}},
			{[]Section{long}, []Section{btf}},
			{[]Section{btf}, []Section{long, base}},
			{[]Section{long, base}, []Section{btf}},
			{[]Section{btf, base}, []Section{long, base}},
		} {
			once := must.Get(editBTF(t, path, tt.second))(t)
			first := must.Get(editBTF(t, path, tt.first))(t)
			twice := must.Get(editBTF(t, writeFile(t, first), tt.second))(t)
			if path == both && len(tt.second) > len(tt.first) { // an inactive header is left
				checkSections(t, twice, tt.second)
			} else if !bytes.Equal(once, twice) {
				t.Errorf("%s: %d sections and then %d: %d bytes, not the %d of the latter alone",
					filepath.Base(path), len(tt.first), len(tt.second), len(twice), len(once))
			}
			readelf(t, writeFile(t, twice))
		}
	}
}

// editBTF writes sections into a file: .BTF alone, or .BTF and .BTF.base. If .BTF is alone, editBTF
// removes .BTF.base from the file.
func editBTF(t *testing.T, path string, sections []Section) ([]byte, error) {
	f := must.Get(elf.Open(path))(t)
	defer f.Close()
	var removed []string
	if len(sections) == 1 {
		removed = []string{".BTF.base"}
	}
	return edit(f, removed, sections...)
}

// TestNothingStale replaces a large section with a small one. The file shrinks by the difference,
// and the sections that follow are unchanged, at aligned offsets.
func TestNothingStale(t *testing.T) {
	large := writeFile(t, bytes.Repeat([]byte("STALE"), 20_000))
	path := filepath.Join(t.TempDir(), "x.o")
	programtest.Run(t, "", "objcopy", "--add-section=.BTF="+large, build(t, "-c", "-g"), path)
	f := must.Get(elf.Open(path))(t)
	defer f.Close()
	out := replaced(t, path, Section{Name: ".BTF", Data: []byte("small")})
	if bytes.Contains(out, []byte("STALE")) || len(out) > len(f.Bytes())-99_000 {
		t.Errorf("%d of %d bytes", len(out), len(f.Bytes()))
	}
	after := must.Get(elf.Parse("after", out))(t)
	for i, s := range f.Sections {
		a := after.Sections[i]
		if s.Name != ".BTF" && (!bytes.Equal(s.Raw(), a.Raw()) || a.Name != s.Name ||
			len(a.Raw()) > 0 && s.Align > 1 && a.Offset%s.Align != 0) {
			t.Errorf("section %d (%s) changed or is not aligned to %d: %d", i, s.Name, s.Align, a.Offset)
		}
	}
}

// TestUnusualOrder edits files that no common linker writes: the section headers come first, and
// an empty section begins where an earlier one begins. Nothing stale is left, and the same edit
// again changes nothing.
func TestUnusualOrder(t *testing.T) {
	stale := Section{Name: ".BTF", Data: bytes.Repeat([]byte("STALE"), 99)}
	a, b := Section{Name: ".a", Data: []byte("of a")}, Section{Name: ".b", Data: []byte("of b")}
	c := Section{Name: ".c", Data: []byte("of c")}
	btf := Section{Name: ".BTF", Data: []byte("data")}
	for _, tt := range []struct {
		name         string
		sections     []Section
		headersFirst bool
		removed      []string
	}{
		{"new", []Section{a, b, c, {Name: ".empty"}}, true, nil},
		{"replaced", []Section{a, stale, b, c, {Name: ".empty"}}, false, nil},
		{"removed", []Section{a, {Name: ".BTF.base", Data: stale.Data}, b, c, {Name: ".empty"}},
			false,
			[]string{".BTF.base"}},
	} {
		data := unusual(t, tt.sections, tt.headersFirst)
		var last []byte
		for range 3 {
			f, err := elf.Parse("x", data)
			must.OK(t, err)
			if data, err = edit(f, tt.removed, btf); err != nil {
				t.Fatal(err)
			}
			if last != nil && !bytes.Equal(data, last) {
				t.Errorf("%s: the same edit again changes the file", tt.name)
			}
			last = data
		}
		checkSections(t, data, []Section{a, b, c, btf})
		if bytes.Contains(data, []byte("STALE")) || len(data) > 64+9*64+120 {
			t.Errorf("%s: something stale is in %d bytes", tt.name, len(data))
		}
	}
}

// unusual returns a file in which the last section, which is empty, begins where the third-last
// section begins.
func unusual(t *testing.T, sections []Section, headersFirst bool) []byte {
	t.Helper()
	o := &File{AddrSize: 8, Order: binary.LittleEndian, Machine: uint16(stdelf.EM_X86_64),
		Sections: sections}
	data := must.Get(o.Bytes())(t)
	le, n := binary.LittleEndian, len(sections)
	shoff := le.Uint64(data[40:])
	table := data[shoff:]
	copy(table[n*64+24:][:8], table[(n-2)*64+24:])
	if !headersFirst {
		return data
	}
	for at := 64; at < len(table); at += 64 {
		le.PutUint64(table[at+24:], le.Uint64(table[at+24:])+uint64(len(table)))
	}
	le.PutUint64(data[40:], 64)
	return slices.Concat(data[:64], table, data[64:shoff])
}
