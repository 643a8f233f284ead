package archive

import (
	"bytes"
	"encoding/hex"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// maxBuildID is the maximum size of a build id in bytes. Linkers write 16 or 20 bytes.
const maxBuildID = 64

// source holds the parts of a raw BTF or ELF file that this package uses.
type source struct {
	file      string
	raw       []byte     // the BTF
	distilled []byte     // the content of .BTF.base, or nil if there is none
	inline    []byte     // the content of .BTF.inline, or nil if there is none
	module    string     // the name in .modinfo, or "" if there is none
	buildID   string     // in hexadecimal, or "" if there is none
	origin    btf.Origin // zero for raw BTF
}

func readSource(file string) (*source, error) {
	f, data, err := btf.Open(file)
	if err != nil {
		return nil, err
	}
	s := &source{file: file, raw: data}
	if f != nil {
		defer f.Close()
		if err := s.readELF(f); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return s, nil
}

// readELF reads an ELF file, which must have BTF.
func (s *source) readELF(f *elf.File) error {
	err := s.readParts(f)
	if err == nil && s.raw == nil {
		err = btf.Absent(f, btf.SectionTypes, "")
	}
	return err
}

// readParts copies the parts of an ELF file, because the caller closes the file.
func (s *source) readParts(f *elf.File) error {
	types, err := btf.Section(f, btf.SectionTypes)
	if err != nil {
		return err
	}
	base, err := btf.Section(f, btf.SectionBase)
	if err != nil {
		return err
	}
	inline, err := btf.Section(f, btf.SectionInline)
	if err != nil {
		return err
	}
	s.raw, s.distilled, s.inline = bytes.Clone(types), bytes.Clone(base), bytes.Clone(inline)
	s.module, s.origin = f.ModuleInfo("name"), btf.OriginOf(f)
	if id := f.BuildID(); len(id) <= maxBuildID {
		s.buildID = hex.EncodeToString(id)
	}
	return nil
}
