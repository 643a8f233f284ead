package object

import (
	"fmt"
	"os"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/elf"
)

// ReadFile reads what a link takes as input: a .btfo file; raw BTF; or an ELF file with a .BTF
// section, such as a vmlinux or an object that gcc -gbtf made. Errors begin with the path. base is
// what split BTF stands on, nil for none; if an ELF file brings its own base along in .BTF.base,
// and base is nil, that one is taken. The bases' units are part of the object; a .btfo file needs
// no base.
func ReadFile(path string, base *btf.Blob) (*Object, error) {
	raw, err := isRaw(path)
	if err != nil {
		return nil, err
	}
	if raw {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		o, err := readRaw(Target{}, data, base)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return o, nil
	}
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Section(SectionUnits) != nil {
		return readObject(f)
	}
	o, err := readSections(f, base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return o, nil
}

// isRaw tells whether the file at path begins with BTF's magic.
func isRaw(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var b [2]byte
	n, _ := f.Read(b[:])
	return n == 2 && (b == [2]byte{0x9f, 0xeb} || b == [2]byte{0xeb, 0x9f}), nil
}

func readRaw(t Target, data []byte, base *btf.Blob) (*Object, error) {
	blobs, err := btf.ParseAll(data, base)
	if err != nil {
		return nil, err
	}
	return FromBTF(t, blobs...)
}

// readSections reads the .BTF section, and .BTF.base, of an ELF file that is no .btfo.
func readSections(f *elf.File, base *btf.Blob) (*Object, error) {
	s := f.Section(SectionBTF)
	if s == nil {
		return nil, fmt.Errorf("no section %s: run btfgen object first", SectionBTF)
	}
	if b := f.Section(".BTF.base"); b != nil && base == nil {
		data, err := b.Data()
		if err != nil {
			return nil, err
		}
		if base, err = btf.Parse(data, nil); err != nil {
			return nil, fmt.Errorf("section .BTF.base: %w", err)
		}
	}
	data, err := s.Data()
	if err != nil {
		return nil, err
	}
	o, err := readRaw(target(f), data, base)
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", SectionBTF, err)
	}
	if len(o.Units) == 0 {
		o.Target.Order = f.Order
	}
	return o, nil
}
