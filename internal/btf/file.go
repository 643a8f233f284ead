package btf

import (
	"bytes"
	stdelf "debug/elf"
	"fmt"
	"io"
	"os"

	"github.com/rules-btf/rules_btf/internal/elf"
)

// ReadFile reads the blobs of a file: raw BTF, or the .BTF section of an ELF file. A linked file
// whose objects carried BTF holds one blob an object, concatenated. If base is nil and the ELF file
// brings its own base in .BTF.base, the blob stands on that. Errors begin with the path. Of a large
// ELF file only the sections needed are read.
func ReadFile(path string, base *Blob) ([]*Blob, error) {
	isELF, err := hasELFMagic(path)
	if err != nil {
		return nil, err
	}
	if isELF {
		f, err := elf.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		blobs, err := readELF(f, base)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return blobs, nil
	}
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

// hasELFMagic looks at the first bytes of a regular file. Others, such as pipes, cannot be looked
// at twice.
func hasELFMagic(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false, err
	}
	var magic [len(stdelf.ELFMAG)]byte
	n, err := io.ReadFull(f, magic[:])
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return false, err
	}
	return string(magic[:n]) == stdelf.ELFMAG, nil
}

// ReadBytes is ReadFile of a file's content. It returns at least one blob.
func ReadBytes(data []byte, base *Blob) ([]*Blob, error) {
	if !bytes.HasPrefix(data, []byte(stdelf.ELFMAG)) {
		return parseSome(data, base)
	}
	f, err := elf.Parse("ELF file", data)
	if err != nil {
		return nil, err
	}
	return readELF(f, base)
}

func readELF(f *elf.File, base *Blob) ([]*Blob, error) {
	own, err := sectionBytes(f, ".BTF")
	if err != nil {
		return nil, err
	}
	if own == nil {
		return nil, fmt.Errorf("the ELF file has no .BTF section; build it with -gbtf," +
			" or make BTF from its DWARF with btfgen")
	}
	if base == nil {
		distilled, err := sectionBytes(f, ".BTF.base")
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

// sectionBytes is a section's content, uncompressed but not relocated: relocations of .BTF (in BPF
// objects) are for a loader that knows where variables are. It is nil if there is no such section.
func sectionBytes(f *elf.File, name string) ([]byte, error) {
	s := f.Section(name)
	if s == nil || s.Type == stdelf.SHT_NOBITS {
		return nil, nil
	}
	if s.Flags&stdelf.SHF_COMPRESSED == 0 {
		return s.Raw(), nil
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
		return nil, fmt.Errorf("%s: holds %d BTF blobs, one after the other;"+
			" merge them first with btfdedup link", path, len(blobs))
	}
	return blobs[0], nil
}

// ReadBases reads a chain of bases, each standing on the one before it, and returns the last; nil
// for no paths.
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
