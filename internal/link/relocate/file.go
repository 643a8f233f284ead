package relocate

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// ReadFile is like btf.ReadFile, but BTF that is based on the section .BTF.base of its file is
// relocated to base, unless base is nil or equals the BTF in that section. libbpf does the same
// (btf_parse_elf). ReadFile returns an error for BTF that was made for a different base, if Fits
// can detect that.
func ReadFile(path string, base *btf.Blob) ([]*btf.Blob, error) {
	blobs, err := ReadAnyBase(path, base)
	for i := 0; i < len(blobs) && err == nil; i++ {
		err = Fits(path, blobs[i])
	}
	return blobs, err
}

// ReadAnyBase is ReadFile, but doesn't detect that BTF was made for a different base.
func ReadAnyBase(path string, base *btf.Blob) ([]*btf.Blob, error) {
	blobs, err := btf.ReadFile(path, base)
	for i := 0; i < len(blobs) && err == nil; i++ {
		blobs[i], err = onto(blobs[i], base, path)
	}
	return blobs, err
}

// ReadOne is ReadFile for a file that must hold exactly one blob.
func ReadOne(path string, base *btf.Blob) (*btf.Blob, error) {
	b, err := btf.ReadOne(path, base)
	if err != nil {
		return nil, err
	}
	return fitting(b, base, path)
}

// ReadBases reads bases, each based on the one before it, and returns the last one (nil if none).
func ReadBases(paths []string) (*btf.Blob, error) {
	var base *btf.Blob
	for _, p := range paths {
		var err error
		if base, err = ReadBase(p, base); err != nil {
			return nil, err
		}
	}
	return base, nil
}

// ReadBase is ReadOne for a base. It returns an error for a file whose BTF can't be a base.
func ReadBase(path string, below *btf.Blob) (*btf.Blob, error) {
	f, data, err := btf.Open(path)
	if err != nil {
		return nil, err
	}
	var blobs []*btf.Blob
	switch {
	case f == nil:
		blobs, err = btf.ParseAll(data, below)
	case f.Section(object.SectionUnits) != nil:
		err = fmt.Errorf("a BTF object can't be a base; link it with btfdedup link first")
	case below == nil && f.Section(btf.SectionBase) != nil && btf.Detached(f, btf.SectionTypes) == nil:
		err = fmt.Errorf("its BTF is based on a distilled base (section %s), so its ids match no "+
			"kernel; add a --base with a kernel's BTF before this one", btf.SectionBase)
	default:
		blobs, err = btf.ReadELF(f, below)
	}
	if f != nil {
		defer f.Close()
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case len(blobs) == 0:
		return nil, fmt.Errorf("%s: no BTF: section %s is empty; a base must be the BTF of a kernel or "+
			"module", path, btf.SectionTypes)
	case len(blobs) > 1:
		return nil, fmt.Errorf("%s: holds %d BTF blobs, one after the other; a base must be a single "+
			"blob, from a kernel or module", path, len(blobs))
	}
	return fitting(blobs[0], below, path)
}

// fitting calls onto and Fits.
func fitting(b, base *btf.Blob, path string) (*btf.Blob, error) {
	b, err := onto(b, base, path)
	if err != nil {
		return nil, err
	}
	return b, Fits(path, b)
}

func onto(b, base *btf.Blob, path string) (*btf.Blob, error) {
	if base == nil || b.Base == base || sameBTF(b.Base, base) {
		return b, nil
	}
	moved, err := Relocate(b, base)
	if err != nil {
		return nil, fmt.Errorf("%s: its section %s doesn't match the base: "+
			"%w", path, btf.SectionBase,
			err)
	}
	return moved, nil
}

// sameBTF reports whether a distilled base equals b. If so, BTF that is based on one of them is
// also based on the other.
func sameBTF(distilled, b *btf.Blob) bool {
	return distilled != nil && b.Base == nil && distilled.SameRecords(b)
}
