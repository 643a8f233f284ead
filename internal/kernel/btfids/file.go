package btfids

import (
	"bytes"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// moduleSignature is the end of a signed kernel module (MODULE_SIG_STRING).
const moduleSignature = "~Module signature appended~\n"

// Find reads the section of a file. It returns nil if the file has none, or an empty one.
func Find(f *elf.File) (*Section, error) {
	sec, err := find(f)
	if sec == nil || err != nil {
		return nil, err
	}
	symbols, err := symbolsIn(f, sec)
	if err != nil {
		return nil, err
	}
	s, err := Parse(sec.Raw(), f.Order, symbols)
	if err != nil {
		return nil, sectionError(f, err)
	}
	return s, nil
}

// symbolsIn returns the section's symbols that matter.
func symbolsIn(f *elf.File, sec *elf.Section) ([]Symbol, error) {
	table, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	if len(table.List) == 0 {
		return nil, sectionError(f, noSymbols(int(sec.Size)))
	}
	var symbols []Symbol
	for i := range table.List {
		sym := &table.List[i]
		if int(sym.Section) != sec.Index || !table.HasPrefix(sym, Prefix) {
			continue
		}
		if sym.Value < sec.Addr {
			return nil, sectionError(f, symbolError(table.Name(sym), sym.Value,
				fmt.Errorf("the address is before that of the section, %#x", sec.Addr)))
		}
		symbols = append(symbols, Symbol{table.Name(sym), sym.Value - sec.Addr, sym.Size})
	}
	return symbols, nil
}

func sectionError(f *elf.File, err error) error {
	return fmt.Errorf("%s: section %s: %w", f.Path, SectionName, err)
}

// find returns the section, nil if there is none with content.
func find(f *elf.File) (*elf.Section, error) {
	list := f.SectionsNamed(SectionName)
	if len(list) == 0 || len(list) == 1 && list[0].Size == 0 {
		return nil, nil
	}
	sec := list[0]
	switch {
	case len(list) > 1:
		return nil, sectionError(f, fmt.Errorf("sections %d and %d both have that name; "+
			"link the file with the kernel's linker script", sec.Index, list[1].Index))
	case sec.Raw() == nil:
		return nil, sectionError(f, fmt.Errorf("it has no content (%v): "+
			"this is a detached debug file; pass the linked file", sec.Type))
	case !sec.Plain():
		return nil, sectionError(f, fmt.Errorf("it is compressed or has relocations; "+
			"no compiler or linker makes that of the kernel's macros"))
	}
	return sec, nil
}

// Patch returns the file, in consecutive parts, with data as the section's content, of the same
// length. It refuses to change a signed kernel module, whose signature would no longer hold.
func Patch(f *elf.File, data []byte) ([][]byte, error) {
	sec, err := find(f)
	if err != nil {
		return nil, err
	}
	in := f.Bytes()
	var start, size uint64
	if sec != nil {
		start, size = sec.Offset, sec.Size
	}
	if uint64(len(data)) != size {
		return nil, sectionError(f, fmt.Errorf("%d bytes cannot take the place of %d", len(data), size))
	}
	if !bytes.Equal(in[start:start+size], data) && bytes.HasSuffix(in, []byte(moduleSignature)) {
		return nil, fmt.Errorf("%s: signed kernel module, whose signature would no longer hold; "+
			"resolve ids before signing", f.Path)
	}
	return [][]byte{in[:start], data, in[start+size:]}, nil
}
