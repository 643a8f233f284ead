package btf

import (
	"bytes"
	stdelf "debug/elf"
	"fmt"
	"io"
	"os"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Names of the sections with BTF in ELF files.
const (
	SectionTypes  = ".BTF"
	SectionBase   = ".BTF.base"   // the distilled base that .BTF is based on
	SectionInline = ".BTF.inline" // the sites of inlined functions, based on .BTF
)

// ReadFile reads the blobs of a file: raw BTF, or the .BTF section of an ELF file. If object files
// had BTF, the file linked from them holds their blobs, concatenated. If the ELF file has its own
// base in .BTF.base, the blobs are based on that base, and the parameter base isn't used; package
// relocate moves such blobs to another base. Errors begin with the path.
func ReadFile(path string, base *Blob) ([]*Blob, error) {
	f, data, err := Open(path)
	if err != nil {
		return nil, err
	}
	var blobs []*Blob
	if f != nil {
		defer f.Close()
		blobs, err = ReadELF(f, base)
	} else {
		blobs, err = ParseAll(data, base)
	}
	return someBlobs(path, blobs, err)
}

func someBlobs(path string, blobs []*Blob, err error) ([]*Blob, error) {
	if err == nil && len(blobs) == 0 {
		err = fmt.Errorf("no BTF: section %s is empty", SectionTypes)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return blobs, nil
}

// maxStream limits how many bytes are read from a file that is not mapped, such as a pipe.
const maxStream = 1 << 30

// Open opens the file at path. It returns an ELF file or, for any other file, the content, which is
// not empty. The file may be a pipe.
func Open(path string) (*elf.File, []byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.IsDir() {
		return nil, nil, fmt.Errorf("%s: is a directory; pass a file in it", path)
	}
	if info.Mode().IsRegular() {
		var magic [len(stdelf.ELFMAG)]byte
		if n, err := file.ReadAt(magic[:], 0); err != nil && err != io.EOF {
			return nil, nil, err
		} else if string(magic[:n]) == stdelf.ELFMAG {
			f, err := elf.Open(path)
			return f, nil, err
		}
	}
	// With the size of a regular file, the buffer need not grow. The file may be larger by now.
	buffer := bytes.NewBuffer(make([]byte, 0, min(info.Size(), maxStream)+bytes.MinRead))
	_, err = buffer.ReadFrom(io.LimitReader(file, maxStream+1))
	data := buffer.Bytes()
	if err == nil && len(data) > maxStream {
		err = fmt.Errorf("%s: more than the limit of %d bytes", path, maxStream)
	}
	if err == nil && len(data) == 0 {
		err = fmt.Errorf("%s: %w", path, message.Empty("BTF, or a file that contains BTF"))
	}
	if err != nil || !bytes.HasPrefix(data, []byte(stdelf.ELFMAG)) {
		return nil, data, err
	}
	f, err := elf.Parse(path, data)
	return f, nil, err
}

// HasMagic reports whether data begins with BTF's magic number in either byte order.
func HasMagic(data []byte) bool {
	return bytes.HasPrefix(data, []byte{Magic & 0xff, Magic >> 8}) ||
		bytes.HasPrefix(data, []byte{Magic >> 8, Magic & 0xff})
}

// ReadELF reads the blobs in an ELF file's .BTF section. If the section is empty, there are none.
func ReadELF(f *elf.File, base *Blob) ([]*Blob, error) {
	own, err := Section(f, SectionTypes)
	if err != nil {
		return nil, err
	}
	if own == nil {
		return nil, Absent(f, SectionTypes, "; make BTF from its DWARF with btfgen elf, or with "+
			"btfgen object if it is an object file")
	}
	distilled, err := Section(f, SectionBase)
	if err != nil {
		return nil, err
	}
	if distilled != nil {
		if base, err = Parse(distilled, nil); err != nil {
			return nil, fmt.Errorf("section %s: %w", SectionBase, err)
		}
	}
	blobs, err := ParseAll(own, base)
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", SectionTypes, err)
	}
	origin := OriginOf(f)
	for _, b := range blobs {
		b.Origin = origin
	}
	return blobs, nil
}

// Section returns the content of an ELF file's section .BTF or .BTF.base, as the parameter name
// says, or nil if there is no such section. The content is decompressed but not relocated: in BPF
// object files, the relocations of .BTF are for a loader that knows where variables are.
func Section(f *elf.File, name string) ([]byte, error) {
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

// Detached returns an error if f has only the header of a section (SHT_NOBITS), as a separate debug
// file has.
func Detached(f *elf.File, name string) error {
	if s := f.Section(name); s == nil || s.Type != stdelf.SHT_NOBITS {
		return nil
	}
	return fmt.Errorf("section %s has no content in this file (SHT_NOBITS), which is a separate "+
		"debug file; use the stripped file that belongs to it", name)
}

// Absent returns the error for an ELF file for which Section returned nil. The text in advice
// follows if there is no such section.
func Absent(f *elf.File, name, advice string) error {
	if err := Detached(f, name); err != nil {
		return err
	}
	return fmt.Errorf("the ELF file has no section %s%s", name, advice)
}

// ReadOne reads a file that must hold exactly one blob.
func ReadOne(path string, base *Blob) (*Blob, error) {
	blobs, err := ReadFile(path, base)
	if err != nil {
		return nil, err
	}
	if len(blobs) != 1 {
		return nil, fmt.Errorf("%s: holds %d BTF blobs, one after the other; "+
			"merge them first with btfdedup link", path, len(blobs))
	}
	return blobs[0], nil
}
