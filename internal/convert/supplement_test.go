package convert

import (
	stdelf "debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// dwarfOf holds the DWARF of a hand-made file.
type dwarfOf struct{ info, abbrevs, str string }

// supAbbrevs has the abbreviations that the units below use in addition to handAbbrevs. Imported
// units have the forms GNU_ref_alt (32), ref_sup4 (33) and ref_sup8 (34). The typedef "t" refers to
// its type by GNU_ref_alt (35), ref_sup4 (36) and ref_addr (37). Structs without members have names
// in the forms strp (38), GNU_strp_alt (39) and strp_sup (40).
var supAbbrevs = strings.TrimSuffix(handAbbrevs, "\x00") +
	"\x20\x3d\x00\x18\xa0\x3e\x00\x00" + "\x21\x3d\x00\x18\x1c\x00\x00" +
	"\x22\x3d\x00\x18\x24\x00\x00" + "\x23\x16\x00\x03\x08\x49\xa0\x3e\x00\x00" +
	"\x24\x16\x00\x03\x08\x49\x1c\x00\x00" + "\x25\x16\x00\x03\x08\x49\x10\x00\x00" +
	"\x26\x13\x00\x03\x0e\x00\x00" + "\x27\x13\x00\x03\xa1\x3e\x00\x00" +
	"\x28\x13\x00\x03\x1d\x00\x00" + "\x00"

func (d dwarfOf) file(t testing.TB, name string, order binary.ByteOrder) *elf.File {
	t.Helper()
	o := elfwrite.File{AddrSize: 8, Order: order, Machine: uint16(stdelf.EM_X86_64)}
	if d.abbrevs == "" {
		d.abbrevs = supAbbrevs
	}
	o.Sections = []elfwrite.Section{{Name: ".debug_info", Data: []byte(d.info)},
		{Name: ".debug_abbrev", Data: []byte(d.abbrevs)}, {Name: ".debug_str", Data: []byte(d.str)}}
	f := must.Get(elf.Parse(name, filetest.Bytes(t, o)))(t)
	return f
}

// withSup returns a hand-made file with its supplementary file.
func withSup(t testing.TB, main, sup dwarfOf) *elf.File {
	f := main.file(t, "main.o", binary.LittleEndian)
	f.SetSupplement(func() (*elf.File, error) {
		return sup.file(t, "sup.o", binary.LittleEndian), nil
	})
	return f
}

// structsAndTypedefs lists the structs and typedefs in the units of a file.
func structsAndTypedefs(f *elf.File) ([]string, error) {
	o, err := File(f, Options{Features: features.Default(), Jobs: 1})
	if err != nil {
		return nil, err
	}
	var list []string
	for _, u := range o.Units {
		for _, id := range u.Items {
			kinds := map[types.Kind]string{types.KindStruct: "struct ", types.KindTypedef: "typedef "}
			if n := o.Graph.Node(id); kinds[n.Kind] != "" {
				list = append(list, kinds[n.Kind]+string(o.Graph.Strs.Bytes(n.Name)))
			}
		}
	}
	slices.Sort(list)
	return list, nil
}

// TestSupplementForms tests each GNU and DWARF 5 form that refers to a supplementary file, and the
// references that such a file may itself contain.
func TestSupplementForms(t *testing.T) {
	// a struct at 13 with a member that points to it
	s := unitOf(3, "\x06\x05s\x00\x04"+u32(23)+"\x00\x00\x02"+u32(13)+"\x00")
	end := len(s)
	unit := func(entries string) dwarfOf {
		return dwarfOf{info: unitOf(1, "\x01"+entries+"\x00"), str: "main\x00"}
	}
	for _, tt := range []struct {
		name string
		main dwarfOf
		sup  dwarfOf
		want string
	}{
		{"import, GNU_ref_alt", unit("\x20" + u32(12)), dwarfOf{info: s}, "struct s"},
		{"import, ref_sup4", unit("\x21" + u32(12)), dwarfOf{info: s}, "struct s"},
		{"import, ref_sup8", unit("\x22" + u32(12) + u32(0)), dwarfOf{info: s}, "struct s"},
		{"import twice", unit("\x21" + u32(12) + "\x21" + u32(12)), dwarfOf{info: s}, "struct s"},
		{"a type, GNU_ref_alt", unit("\x23t\x00" + u32(13)), dwarfOf{info: s}, "struct s, typedef t"},
		{"a type, ref_sup4", unit("\x24t\x00" + u32(13)), dwarfOf{info: s}, "struct s, typedef t"},
		{"an import within the supplementary file", unit("\x21" + u32(end+12)),
			dwarfOf{info: s + unitOf(3, "\x06\x07"+u32(12)+"\x00")}, "struct s"},
		{"a reference between units of the supplementary file", unit("\x21" + u32(end+12)),
			dwarfOf{info: s + unitOf(3, "\x06\x07"+u32(12)+"\x25t\x00"+u32(13)+"\x00")},
			"struct s, typedef t"},
		{"a name, GNU_strp_alt", unit("\x27" + u32(4)), dwarfOf{info: s, str: "sup\x00name\x00"},
			"struct name"},
		{"a name, strp_sup", unit("\x28" + u32(0)), dwarfOf{info: s, str: "sup\x00"}, "struct sup"},
		{"names at one offset of both files",
			unit("\x26" + u32(0) + "\x28" + u32(0) + "\x21" + u32(12)),
			dwarfOf{info: unitOf(3, "\x06\x26"+u32(4)+"\x26"+u32(0)+"\x00"), str: "sup\x00name\x00"},
			"struct main, struct name, struct sup"},
		{"entries at one offset of both files", // typedefs of the entry at 13 in either file
			dwarfOf{info: unitOf(1, "\x01\x05m\x00\x04"+u32(23)+"\x00\x00\x02"+u32(13)+
				"\x24t\x00"+u32(13)+"\x00")},
			dwarfOf{info: s}, "struct m, struct s, typedef t"},
	} {
		got, err := structsAndTypedefs(withSup(t, tt.main, tt.sup))
		if err != nil || strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: %q, %v; want %s", tt.name, got, err, tt.want)
		}
	}
}

func TestSupplementErrors(t *testing.T) {
	s := unitOf(3, "\x06\x05s\x00\x00\x00")
	unit := func(entries string) dwarfOf { return dwarfOf{info: unitOf(1, "\x01"+entries+"\x00")} }
	big := func(f *elf.File) {
		f.SetSupplement(func() (*elf.File, error) {
			return dwarfOf{info: s}.file(t, "sup.o", binary.BigEndian), nil
		})
	}
	for _, tt := range []struct {
		name   string
		main   dwarfOf
		sup    dwarfOf
		change func(*elf.File)
		want   string
	}{
		{"past the end", unit("\x20" + u32(1<<20)), dwarfOf{info: s}, nil,
			"main.o: .debug_info+0xd: a reference leads to offset 0x100000 in the " +
				"supplementary file (dwz -m), but no unit there contains that offset"},
		{"no such file", unit("\x20" + u32(12)), dwarfOf{},
			func(f *elf.File) { f.SetSupplement(nil) },
			"main.o: .debug_info+0xd: a reference leads to offset 0xc in the supplementary " +
				"file (dwz -m), but no unit there contains that offset"},
		{"no .debug_info", unit("\x20" + u32(12)), dwarfOf{}, nil, "no unit there contains"},
		{"no entry there", unit("\x24t\x00" + u32(16)), dwarfOf{info: s}, nil,
			"sup.o: .debug_info+0x10: a reference to a type does not point to an entry"},
		{"a string past the end", unit("\x28" + u32(9)), dwarfOf{str: "sup\x00"}, nil,
			"main.o: .debug_info+0xd: string offset 0x9 is beyond the end of the string section"},
		{"a string without the file", unit("\x27" + u32(9)), dwarfOf{},
			func(f *elf.File) { f.SetSupplement(nil) },
			"main.o: .debug_info+0xd: a string is in a supplementary file (dwz -m), but no " +
				"section .gnu_debugaltlink or .debug_sup names that file"},
		{"a string in the supplementary file of the supplementary file", unit("\x20" + u32(12)),
			dwarfOf{info: unitOf(3, "\x06\x28"+u32(0)+"\x00"), str: "sup\x00"}, nil,
			"sup.o: .debug_info+0xd: a name has a form that is not a string"},
		{"an import from the supplementary file of the supplementary file", unit("\x20" + u32(12)),
			dwarfOf{info: unitOf(3, "\x06\x20"+u32(0)+"\x00")}, nil,
			"sup.o: .debug_info+0xd: a reference has an invalid form"},
		{"cut off", unit("\x20" + u32(12)), dwarfOf{info: s[:len(s)-2]}, nil,
			"sup.o: .debug_info+0x0: the unit's length"},
		{"another byte order", unit("\x20" + u32(12)), dwarfOf{}, big,
			"sup.o: the byte order of this supplementary file differs from the byte order of main.o"},
	} {
		f := withSup(t, tt.main, tt.sup)
		if tt.change != nil {
			tt.change(f)
		}
		if got, err := structsAndTypedefs(f); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %q, error %v; want %s", tt.name, got, err, tt.want)
		}
	}
}

// TestSupplementWithoutFile converts two files from dwz -m, each without the other: a file that dwz
// has changed, and the supplementary file that holds what such files share.
func TestSupplementWithoutFile(t *testing.T) {
	for name, want := range map[string]string{
		"dwz-m-4.elf": "a string is in a supplementary file (dwz -m), but",
		"dwz-m-5.elf": "in the supplementary file (dwz -m), but no unit there contains that offset",
		"dwz-m-4.sup": "the DWARF has only partial units: this is a supplementary file of dwz -m; pass " +
			"the files that refer to it",
		"dwz-m-5.sup": "the DWARF has only partial units: this is a supplementary file of dwz -m",
	} {
		data := must.Get(os.ReadFile(filepath.Join("testdata/objects", name)))(t)
		f := must.Get(elf.Parse("alone", data))(t)
		if _, err := structsAndTypedefs(f); err == nil || !strings.Contains(err.Error(), "alone: ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}

// FuzzSupplement converts a file that has a supplementary file. The debug sections of both files
// are arbitrary bytes.
func FuzzSupplement(f *testing.F) {
	s := unitOf(3, "\x06\x05s\x00\x04"+u32(13)+"\x00\x00")
	entries := "\x01\x20" + u32(12) + "\x24t\x00" + u32(13) + "\x28" + u32(0) + "\x00"
	f.Add([]byte(unitOf(1, entries)), []byte(supAbbrevs), []byte(s), []byte(supAbbrevs),
		[]byte("sup\x00"))
	for _, version := range []string{"4", "5"} {
		part := func(file, name string) []byte {
			e := must.Get(elf.Open("testdata/objects/dwz-m-" + version + file))(f)
			defer e.Close()
			data := must.Get(e.Section(name).Data())(f)
			return slices.Clone(data)
		}
		f.Add(part(".elf", ".debug_info"), part(".elf", ".debug_abbrev"), part(".sup", ".debug_info"),
			part(".sup", ".debug_abbrev"), part(".sup", ".debug_str"))
	}
	f.Fuzz(func(t *testing.T, info, abbrevs, supInfo, sup, str []byte) {
		if len(info)+len(abbrevs)+len(supInfo)+len(sup)+len(str) > 1<<16 {
			t.Skip()
		}
		file := withSup(t, dwarfOf{string(info), string(abbrevs), ""},
			dwarfOf{string(supInfo), string(sup), string(str)})
		made, err := File(file, Options{Jobs: 1,
			Features: features.Default().With(features.SkipUnencodable)})
		if err != nil {
			return
		}
		o, err := object.Merge(made.Object)
		must.OK(t, err)
		if out, err := object.Write(o, 1); err == nil {
			readObject(t, out)
		}
	})
}
