package btfids

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestBadSymbols: errors about symbols name the symbol and its offset.
func TestBadSymbols(t *testing.T) {
	const f, set, set8 = "__BTF_ID__func__f__1", "__BTF_ID__set__s", "__BTF_ID__set8__s"
	for _, test := range []struct {
		name    string
		symbols []Symbol
		want    string
	}{
		{"unknown kind", []Symbol{{"__BTF_ID__enum__e__1", 4, 4}},
			`symbol "__BTF_ID__enum__e__1" at offset 0x4: its kind is not struct,`},
		{"kind that only begins like one", []Symbol{{"__BTF_ID__functor__e__1", 4, 4}},
			"its kind is not struct"},
		{"no number", []Symbol{{"__BTF_ID__func__f", 4, 4}}, "its name has no number"},
		{"number with an underscore", []Symbol{{"__BTF_ID__func__f__1_2", 4, 4}}, "no number"},
		{"no name", []Symbol{{"__BTF_ID__func____1", 4, 4}}, "its name names no type or set"},
		{"set without a name", []Symbol{{"__BTF_ID__set__", 4, 4}}, "its name names no type or set"},
		{"past the end", []Symbol{{f, 64, 4}},
			"at offset 0x40: its 4 bytes don't fit in the section, which has 64"},
		{"partly past the end", []Symbol{{f, 61, 4}}, "fit in the section, which has 64"},
		{"far past the end", []Symbol{{f, 1<<64 - 4, 4}}, "fit in the section, which has 64"},
		{"not at a word", []Symbol{{f, 6, 4}}, "not a multiple of 4"},
		{"set past the end", []Symbol{{set, 8, 60}}, "its 60 bytes don't fit"},
		{"huge set", []Symbol{{set, 8, 1<<64 - 4}}, "fit in the section, which has 64"},
		{"set of no size", []Symbol{{set, 8, 0}},
			"it has 0 bytes; expected a multiple of 4, at least 4"},
		{"half an entry", []Symbol{{set8, 8, 20}}, "it has 20 bytes; expected a multiple of 8"},
		{"two sets of a name", []Symbol{{set, 8, 8}, {set8, 16, 8}},
			`symbol "__BTF_ID__set8__s" at offset 0x10: the set "__BTF_ID__set__s" at offset ` +
				`0x8 has the same name`},
		{"sets that overlap", []Symbol{{set, 8, 12}, {"__BTF_ID__set8__t", 16, 16}},
			`it overlaps the set "__BTF_ID__set__s", which begins at 0x8 and ends at 0x14`},
		{"two ids at a word", []Symbol{{f, 8, 4}, {"__BTF_ID__func__g__2", 8, 4}},
			`"__BTF_ID__func__g__2" at offset 0x8: the symbol "__BTF_ID__func__f__1" has the same offset`},
		{"an id at a set's number", []Symbol{{set, 8, 12}, {f, 8, 4}},
			"it is not at the start of an entry of the set"},
		{"an id at a set's flags", []Symbol{{set8, 8, 24}, {f, 20, 4}},
			`symbol "__BTF_ID__func__f__1" at offset 0x14: it is not at the start of an entry of the set ` +
				`"__BTF_ID__set8__s", which begins at 0x8 and has 2 entries of 8 bytes`},
		{"no symbols", []Symbol{{"other", 4, 4}}, "it has 64 bytes, but no symbol __BTF_ID__…"},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := make([]byte, 64)
			data[63] = 1
			_, err := Parse(data, binary.LittleEndian, test.symbols)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// TestBadFiles: errors about files name the file and the section.
func TestBadFiles(t *testing.T) {
	gcc := []string{"gcc"}
	good := compile(t, gcc, `ID(func, a)`)
	objcopy := func(options ...string) string {
		out := filepath.Join(t.TempDir(), "out.o")
		run(t, append(append([]string{"objcopy"}, options...), good, out)...)
		return out
	}
	for _, test := range []struct{ name, path, want string }{
		{"stripped", objcopy("--strip-all"), "is the symbol table stripped?"},
		{"separate debug file", objcopy("--only-keep-debug"), "it has no content (SHT_NOBITS)"},
		{"relocations", compile(t, gcc, `ID(func, a) SECTION(".quad other")`), "has relocations"},
		{"two sections", compile(t, gcc, `ID(func, a)
			asm(".section .BTF_ids,\"aG\",@progbits,group,comdat\n.zero 4\n.text");`),
			"both have this name"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := findIn(t, test.path)
			if err == nil || !strings.Contains(err.Error(), test.path+": section .BTF_ids: ") ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, %v; want %q", s, err, test.want)
			}
		})
	}
	for _, path := range []string{compile(t, gcc, ""), objcopy("--remove-section=.BTF_ids")} {
		if s, err := findIn(t, path); s != nil || err != nil {
			t.Errorf("no section: %v, %v", s, err)
		}
	}
}

func TestSignedModule(t *testing.T) {
	path := compile(t, []string{"gcc"}, `ID(func, a)`)
	data := must.Get(os.ReadFile(path))(t)
	f := must.Get(elf.Parse("signed.ko", append(data, moduleSignature...)))(t)
	if _, err := Patch(f, []byte{1, 0, 0, 0}); err == nil ||
		!strings.Contains(err.Error(), "signed.ko: the kernel module is signed") {
		t.Errorf("another id: %v", err)
	}
	if _, err := Patch(f, []byte{0, 0, 0, 0}); err != nil {
		t.Errorf("the same id: %v", err)
	}
}
