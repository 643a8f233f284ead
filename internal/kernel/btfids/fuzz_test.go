package btfids

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// fuzzTypes returns BTF with the types to which the seeds refer by name.
func fuzzTypes() *btf.Blob {
	return types(funcs("base", "a"), named{btf.KindFunc, "b"}, named{btf.KindFunc, "c"},
		named{btf.KindStruct, "s"}, named{btf.KindStruct, "s"}, named{btf.KindUnion, "u"},
		named{btf.KindTypedef, "t"})
}

// exercise resolves a section twice. In between, it restores the section if possible, and checks
// that the section then is as before the first time. Check must find nothing wrong with the
// resolved section, except for kfuncs that don't exist.
func exercise(t *testing.T, s *Section, parse func(data []byte) (*Section, error)) {
	b := fuzzTypes()
	if s.Sorted() && s.Restore(b) != nil {
		return
	}
	data, _ := must.Get2(s.Resolve(b))(t)
	must.Get(s.Kfuncs())(t)
	raw := must.Get(s.Unresolved())(t)
	again := must.Get(parse(data))(t)
	for _, w := range again.check(data, b) {
		if again.Resolved() && !strings.HasPrefix(w.Text, "there is no ") {
			t.Fatalf("resolved %x, and then found wrong: %v", data, w)
		}
	}
	if again.Sorted() && again.Restore(b) != nil {
		return // the flags differ between names that are not found, or entries have no symbols
	}
	if got, err := again.Unresolved(); err != nil || !bytes.Equal(got, raw) {
		t.Fatalf("restored %x, %v\nwant     %x", got, err, raw)
	}
	if got, _, err := again.Resolve(b); err != nil || !bytes.Equal(got, data) {
		t.Fatalf("resolved again %x, %v\nwant           %x", got, err, data)
	}
}

// FuzzFile: no file makes this package panic. The seeds are the macros of helpers_test.go, compiled
// for two machines, before and after resolving.
func FuzzFile(f *testing.F) {
	for _, data := range programtest.Seeds(f, "testdata/*.o") {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := elf.Parse("input", data)
		if err != nil {
			return
		}
		s, err := Find(file)
		if s == nil || err != nil {
			return
		}
		symbols, err := symbolsIn(file, file.Section(SectionName))
		must.OK(t, err)
		exercise(t, s, func(ids []byte) (*Section, error) {
			if _, err := Patch(file, ids); err != nil {
				return nil, err
			}
			return Parse(ids, file.Order, symbols)
		})
	})
}

// FuzzParse: no symbols make Parse panic. The input text has one line per symbol: name, offset,
// size.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"func__a__1 0 4\nset__s 4 12\nfunc__b__2 8 4\nstruct__s__3 12 4\n",
		"set8__s 0 24\nfunc__b__1 8 4\nfunc__gone__2 16 4\nset__t 24 8\nfunc__a__3 28 4\n",
		"typedef__t__1 0 4\nunion__u__2 4 4\nset__e 8 4\nset8__f 12 8\n",
	} {
		f.Add([]byte(strings.Repeat("\x00\x00\x00\x00\x01\x00\x00\x00", 4)), text, false)
		f.Add([]byte(strings.Repeat("\x00\x00\x00\x02\x00\x00\x00\x00", 5)), text, true)
	}
	f.Add(make([]byte, 8), "", false) // only unused ids
	f.Fuzz(func(t *testing.T, data []byte, text string, big bool) {
		var order binary.ByteOrder = binary.LittleEndian
		if big {
			order = binary.BigEndian
		}
		var symbols []Symbol
		for line := range strings.Lines(text) {
			sym := Symbol{}
			if _, err := fmt.Sscanf(line, "%s %d %d", &sym.Name, &sym.Offset, &sym.Size); err == nil {
				sym.Name = Prefix + sym.Name
				symbols = append(symbols, sym)
			}
		}
		parse := func(data []byte) (*Section, error) { return Parse(data, order, symbols) }
		if s, err := parse(data); err == nil {
			exercise(t, s, parse)
		}
	})
}

// TestSeeds: the seeds can be resolved.
func TestSeeds(t *testing.T) {
	seeds, err := filepath.Glob("testdata/*.o")
	if err != nil || len(seeds) != 4 {
		t.Fatal(seeds, err)
	}
	var unresolved []string
	for _, path := range seeds {
		s := must.Get(findIn(t, path))(t)
		if s.Sorted() != strings.Contains(path, "resolved") {
			t.Errorf("%s: sorted: %v", path, s.Sorted())
		}
		if s.Sorted() {
			if err := s.Restore(fuzzTypes()); err != nil {
				t.Error(err)
			}
		}
		data := must.Get(s.Unresolved())(t)
		unresolved = append(unresolved, fmt.Sprint(numbers(s.order, data)))
	}
	for _, other := range unresolved[1:] {
		if other != unresolved[0] {
			t.Errorf("%s\nwant %s", other, unresolved[0])
		}
	}
}
