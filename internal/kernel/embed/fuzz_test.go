package embed

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// FuzzInto embeds any bytes into any file. The result must be readable and contain the BTF once,
// and must not change if the same BTF is embedded again.
func FuzzInto(f *testing.F) {
	little, big := someBTF(f, binary.LittleEndian, "s", 2), someBTF(f, binary.BigEndian, "s", 2)
	i := 0
	for _, in := range programtest.Seeds(f, "../../format/elf/testdata/machines/*.gz") {
		types := little.Data
		if file, err := elf.Parse("seed", in); err == nil && file.Order == big.Order {
			types = big.Data
		}
		if i%3 == 0 {
			in = signed(in, 5, 5)
		}
		f.Add(in, types, i%2 == 0)
		i++
	}
	f.Fuzz(func(t *testing.T, in, raw []byte, withBase bool) {
		file, err := elf.Parse("fuzz", in)
		if err != nil {
			return
		}
		types, err := NewBlob("fuzz.btf", raw)
		if err != nil {
			return
		}
		var base *Blob
		if withBase {
			base = types
		}
		if file, err = Unsigned(file, true); err != nil {
			return
		}
		if _, err := ObjectFile(file, types); err != nil && types.Order == file.Order {
			t.Errorf("no object: %v", err)
		}
		out, err := into(file, types, base)
		if err != nil {
			return
		}
		again, err := elf.Parse("out", out)
		if err != nil {
			t.Fatalf("the output cannot be read: %v", err)
		}
		for name, b := range map[string]*Blob{btf.SectionTypes: types, btf.SectionBase: base} {
			switch got := again.SectionsNamed(name); {
			case b == nil && len(got) != 0:
				t.Errorf("%d sections %s", len(got), name)
			case b != nil && (len(got) != 1 || !bytes.Equal(got[0].Raw(), b.Data)):
				t.Errorf("%s is not what was embedded", name)
			}
		}
		if twice, err := into(again, types, base); err != nil || !bytes.Equal(twice, out) {
			t.Errorf("embedding the same BTF again changes the file: %v", err)
		}
	})
}
