package btfids

import (
	"bytes"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// moduleSignature is the end of a signed kernel module (MODULE_SIG_STRING).
const moduleSignature = "~Module signature appended~\n"

// Find reads the section .BTF_ids of a file. It returns nil if the section is missing or empty.
// Rule: .BTF_ids: reading and writing the section. Source: resolve_btfids elf_collect,
// patch_btfids.
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

// symbolsIn returns the symbols of the section whose names begin with Prefix.
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
				fmt.Errorf("its address is below %#x, the start of the section"+useMacros,
					sec.Addr)))
		}
		symbols = append(symbols, Symbol{table.Name(sym), sym.Value - sec.Addr, sym.Size})
	}
	return symbols, nil
}

func sectionError(f *elf.File, err error) error {
	return fmt.Errorf("%s: section %s: %w", f.Path, SectionName, err)
}

// find returns the section .BTF_ids, or nil if the section is missing or empty.
func find(f *elf.File) (*elf.Section, error) {
	list := f.SectionsNamed(SectionName)
	if len(list) == 0 || len(list) == 1 && list[0].Size == 0 {
		return nil, nil
	}
	sec := list[0]
	switch {
	case len(list) > 1:
		return nil, sectionError(f, fmt.Errorf("sections %d and %d both have this name; "+
			"link the file with the kernel's linker script", sec.Index, list[1].Index))
	case sec.Raw() == nil:
		return nil, sectionError(f, fmt.Errorf("it has no content (%v): "+
			"this is a separate debug file; pass the linked file", sec.Type))
	case !sec.Plain():
		return nil, sectionError(f, fmt.Errorf("it is compressed or has relocations; "+
			"the kernel's BTF_ID macros never produce such a section"))
	}
	return sec, nil
}

// Patch returns the file with the section's content replaced by data, which must have the same
// length. The result is a list of consecutive parts of the file. It returns an error for a signed
// module, because a change would make the signature invalid.
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
		return nil, sectionError(f, fmt.Errorf("can't replace its %d bytes with %d "+
			"bytes", size, len(data)))
	}
	if !bytes.Equal(in[start:start+size], data) && bytes.HasSuffix(in, []byte(moduleSignature)) {
		return nil, fmt.Errorf("%s: the kernel module is signed, and a change would invalidate "+
			"the signature; resolve ids before signing", f.Path)
	}
	return [][]byte{in[:start], data, in[start+size:]}, nil
}
