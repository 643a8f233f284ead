package dump

import (
	"fmt"
	"sort"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// CheckCode accepts one site outside of all functions for each maxNoFunction sites. If a weak
// function is overridden, the linker keeps its code, but not its symbol. In Debian's Linux 7.2 for
// amd64, about a hundred of half a million sites are in such code. If the sites belong to another
// file, several percent of them are outside of all functions.
const maxNoFunction = 100

// CheckCode checks that the sites in b can belong to an ELF file: each site must be in a section of
// the file and, if the file has function symbols, nearly all sites must be in functions.
func CheckCode(b *btf.Blob, f *elf.File) error {
	c, err := codeOf(f)
	if err != nil {
		return err
	}
	sites, outside, first := 0, 0, ""
	for i := range b.Types {
		t := &b.Types[i]
		if t.Kind != btf.KindLocsec || t.Vlen == 0 {
			continue
		}
		name := sectionOf(b, t)
		section := f.Section(name)
		if name = message.Printable(name); section == nil {
			return fmt.Errorf("no section %s", name)
		}
		for _, s := range b.SitesOf(t) {
			if uint64(s.Offset) >= section.Size {
				return fmt.Errorf("section %s ends before %s+%#x (its size is %#x)", name, name, s.Offset,
					section.Size)
			}
			if c.function(section.Addr+uint64(s.Offset)) == nil {
				if outside++; outside == 1 {
					first = fmt.Sprintf("%s+%#x", name, s.Offset)
				}
			}
		}
		sites += int(t.Vlen)
	}
	if len(c.functions.List) > 0 && outside*maxNoFunction > sites {
		return fmt.Errorf("sites in no function: %d of %d, such as %s", outside, sites, first)
	}
	return nil
}

// sectionOf returns the name of the ELF section with the sites of t, a LOCSEC.
func sectionOf(b *btf.Blob, t *btf.Type) string {
	return strings.TrimPrefix(b.TypeName(t), "inline")
}

// code finds the function at an address.
type code struct {
	functions *elf.Functions
	ends      []uint64 // for each function, the highest address at which it or an earlier one ends
}

func codeOf(f *elf.File) (*code, error) {
	functions, err := f.Functions()
	if err != nil {
		return nil, err
	}
	c := &code{functions, make([]uint64, len(functions.List))}
	last := uint64(0)
	for i, f := range functions.List {
		last = max(last, f.Addr+functions.Symbols.List[f.Symbol].Size)
		c.ends[i] = last
	}
	return c, nil
}

// function returns nil if an address is in no function, otherwise the last function that starts at
// or before the address. If several functions start there, it returns the first one in the symbol
// table.
func (c *code) function(addr uint64) *elf.Function {
	list := c.functions.List
	i := sort.Search(len(list), func(i int) bool { return list[i].Addr > addr }) - 1
	if i < 0 || c.ends[i] <= addr {
		return nil
	}
	for i > 0 && list[i-1].Addr == list[i].Addr {
		i--
	}
	return &list[i]
}
