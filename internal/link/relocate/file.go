package relocate

import (
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// ReadFile is btf.ReadFile, except that BTF which is based on a section .BTF.base of its file is
// put on base, unless that is nil, or the same as the section. So does libbpf (btf_parse_elf).
func ReadFile(path string, base *btf.Blob) ([]*btf.Blob, error) {
	blobs, err := btf.ReadFile(path, base)
	for i := 0; i < len(blobs) && err == nil; i++ {
		blobs[i], err = onto(blobs[i], base, path)
	}
	return blobs, err
}

// ReadOne is ReadFile of a file that must hold exactly one blob. BTF that was made on another base
// is an error, as far as it shows (btf.Blob.CheckRefs).
func ReadOne(path string, base *btf.Blob) (*btf.Blob, error) {
	b, err := btf.ReadOne(path, base)
	if err != nil {
		return nil, err
	}
	return fitting(b, base, path)
}

// ReadBases reads a chain of bases, each based on the one before it, and returns the last; nil
// for no paths.
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

// ReadBase is ReadOne of a file that is to be a base. Files that hold BTF and are none are refused.
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
	case below == nil && f.Section(btf.SectionBase) != nil:
		err = fmt.Errorf("its BTF is based on a distilled base (section %s), so it has the ids of no "+
			"kernel: name that kernel's BTF with another --base before it", btf.SectionBase)
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
		return nil, fmt.Errorf("%s: no BTF: section %s is empty; a base is the BTF of a kernel or "+
			"module", path, btf.SectionTypes)
	case len(blobs) > 1:
		return nil, fmt.Errorf("%s: holds %d BTF blobs, one after the other; a base is one, of a kernel "+
			"or module", path, len(blobs))
	}
	return fitting(blobs[0], below, path)
}

// fitting is onto, with a check of what is not relocated.
func fitting(b, base *btf.Blob, path string) (*btf.Blob, error) {
	moved, err := onto(b, base, path)
	if err != nil || moved != b || b.Base == nil {
		return moved, err
	}
	if err := b.CheckRefs(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

func onto(b, base *btf.Blob, path string) (*btf.Blob, error) {
	if base == nil || b.Base == base || same(b.Base, base) {
		return b, nil
	}
	moved, err := Relocate(b, base)
	if err != nil {
		return nil, fmt.Errorf("%s: its section %s doesn't fit the base: %w", path, btf.SectionBase, err)
	}
	return moved, nil
}

// same reports whether a distilled base is another blob, so that BTF which is based on one is based
// on the other.
func same(distilled, b *btf.Blob) bool {
	return distilled != nil && b.Base == nil && distilled.Strings == b.Strings &&
		slices.Equal(distilled.Types, b.Types) && slices.Equal(distilled.Members, b.Members) &&
		slices.Equal(distilled.Enums, b.Enums)
}
