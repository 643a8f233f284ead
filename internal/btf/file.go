package btf

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
)

// ReadFile reads the blobs of a file: raw BTF, or the .BTF section of an ELF file. A linked file whose objects carried
// BTF holds one blob an object, concatenated. If base is nil and the ELF file brings its own base in .BTF.base, the
// blob stands on that. Errors begin with the path.
func ReadFile(path string, base *Blob) ([]*Blob, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	blobs, err := ReadBytes(data, base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return blobs, nil
}

// ReadBytes is ReadFile of a file's content. It returns at least one blob.
func ReadBytes(data []byte, base *Blob) ([]*Blob, error) {
	if !bytes.HasPrefix(data, []byte(elf.ELFMAG)) {
		return parseSome(data, base)
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("not a readable ELF file: %w", err)
	}
	own, err := elfSection(f, ".BTF")
	if err != nil {
		return nil, err
	}
	if own == nil {
		return nil, fmt.Errorf("the ELF file has no .BTF section; build it with -gbtf, or make BTF from its DWARF with btfgen")
	}
	if base == nil {
		distilled, err := elfSection(f, ".BTF.base")
		if err != nil {
			return nil, err
		}
		if distilled != nil {
			if base, err = Parse(distilled, nil); err != nil {
				return nil, fmt.Errorf("section .BTF.base: %w", err)
			}
		}
	}
	blobs, err := parseSome(own, base)
	if err != nil {
		return nil, fmt.Errorf("section .BTF: %w", err)
	}
	return blobs, nil
}

func parseSome(data []byte, base *Blob) ([]*Blob, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("no BTF: 0 bytes")
	}
	return ParseAll(data, base)
}

// elfSection is a section's content, uncompressed; nil if there is no such section.
func elfSection(f *elf.File, name string) ([]byte, error) {
	s := f.Section(name)
	if s == nil || s.Type == elf.SHT_NOBITS {
		return nil, nil
	}
	data, err := s.Data()
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", name, err)
	}
	return data, nil
}

// ReadOne reads a file that must hold exactly one blob.
func ReadOne(path string, base *Blob) (*Blob, error) {
	blobs, err := ReadFile(path, base)
	if err != nil {
		return nil, err
	}
	if len(blobs) != 1 {
		return nil, fmt.Errorf("%s: holds %d BTF blobs, one after the other; merge them first with btfdedup link", path, len(blobs))
	}
	return blobs[0], nil
}

// ReadBases reads a chain of bases, each standing on the one before it, and returns the last; nil for no paths.
func ReadBases(paths []string) (*Blob, error) {
	var base *Blob
	for _, p := range paths {
		b, err := ReadOne(p, base)
		if err != nil {
			return nil, err
		}
		base = b
	}
	return base, nil
}
