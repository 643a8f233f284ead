package object

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/elf"
)

// ReadFile reads what a link takes as input: a .btfo file; raw BTF; or an ELF file with a .BTF
// section, such as a vmlinux or an object that gcc -gbtf made. Errors begin with the path. base is
// what split BTF stands on, nil for none; if an ELF file brings its own base along in .BTF.base,
// and base is nil, that one is taken. The bases' units are part of the object; a .btfo file needs
// no base.
func ReadFile(path string, base *btf.Blob) (*Object, error) {
	f, data, err := btf.Open(path)
	if err != nil {
		return nil, err
	}
	if f == nil {
		if !btf.HasMagic(data) {
			_, err := elf.Parse(path, data) // tells what it is instead
			return nil, err
		}
		if base.EndsOnly() {
			return nil, needsBase(path)
		}
		blobs, err := btf.ParseAll(data, base)
		return fromFile(path, Target{}, blobs, err)
	}
	defer f.Close()
	if f.Section(SectionUnits) != nil {
		return readObject(f)
	}
	if base.EndsOnly() {
		return nil, needsBase(path)
	}
	blobs, err := btf.ReadELF(f, base)
	return fromFile(path, target(f), blobs, err)
}

func needsBase(path string) error {
	return fmt.Errorf("%s: BTF, not a BTF object, so it is read together with its base: give that as "+
		"BTF, not as an index", path)
}

// fromFile is FromBTF of what a file holds.
func fromFile(path string, t Target, blobs []*btf.Blob, err error) (*Object, error) {
	if err == nil {
		var o *Object
		if o, err = FromBTF(t, blobs...); err == nil {
			return o, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", path, err)
}
