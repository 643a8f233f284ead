package dump

import (
	"fmt"
	"sort"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// CheckCode checks that an ELF file can have the code in which the sites of b are: that each site is
// in a section of the file and, if the file has function symbols, in a function. An error is about
// the first site that isn't.
func CheckCode(b *btf.Blob, f *elf.File) error {
	functions, err := f.Functions()
	if err != nil {
		return err
	}
	ends := endsOf(functions)
	for i := range b.Types {
		t := &b.Types[i]
		if t.Kind != btf.KindLocsec || t.Vlen == 0 {
			continue
		}
		name := sectionOf(b, t)
		section := f.Section(name)
		if section == nil {
			return fmt.Errorf("no section %s", message.Printable(name))
		}
		for _, s := range b.SitesOf(t) {
			if uint64(s.Offset) >= section.Size {
				return fmt.Errorf("section %s ends before %s+%#x (its size is %#x)", name, name, s.Offset,
					section.Size)
			}
			addr := section.Addr + uint64(s.Offset)
			list := functions.List
			i := sort.Search(len(list), func(i int) bool { return list[i].Addr > addr })
			if len(list) > 0 && (i == 0 || ends[i-1] <= addr) {
				return fmt.Errorf("no function at %s+%#x", name, s.Offset)
			}
		}
	}
	return nil
}

// endsOf returns for each function in t.List the highest address at which this function or an
// earlier one ends.
func endsOf(t *elf.Functions) []uint64 {
	ends := make([]uint64, len(t.List))
	last := uint64(0)
	for i, f := range t.List {
		last = max(last, f.Addr+t.Symbols.List[f.Symbol].Size)
		ends[i] = last
	}
	return ends
}

// sectionOf returns the name of the ELF section with the sites of t, a LOCSEC.
func sectionOf(b *btf.Blob, t *btf.Type) string {
	return strings.TrimPrefix(b.TypeName(t), "inline")
}
