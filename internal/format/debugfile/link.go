package debugfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// The sections that name other files.
const (
	debuglink = ".gnu_debuglink"
	altlink   = ".gnu_debugaltlink"
	debugSup  = ".debug_sup"
)

// maxID limits the length of a build-id or checksum, in bytes. Hashes have 8 to 64 bytes.
const maxID = 256

// supplement is a file's reference to the supplementary file that it needs.
type supplement struct {
	name string
	id   []byte // the build-id, or in DWARF 5 the checksum; empty if there is none
}

// supplementOf reads .gnu_debugaltlink or .debug_sup. It returns nil if f needs no other file.
func supplementOf(f *elf.File) (*supplement, error) {
	if data, err := sectionOf(f, altlink); data != nil || err != nil {
		name, id, ok := bytes.Cut(data, []byte{0})
		if err == nil && (!ok || len(name) == 0 || len(id) == 0 || len(id) > maxID) {
			err = broken(f, altlink, "a name, a NUL and a build-id")
		}
		if err != nil {
			return nil, err
		}
		return &supplement{string(name), bytes.Clone(id)}, nil
	}
	s, is, err := readSup(f)
	if s == nil || is || err != nil {
		return nil, err
	}
	if s.name == "" {
		return nil, broken(f, debugSup, "a name")
	}
	return s, nil
}

// readSup reads .debug_sup (DWARF 5, 7.3.6). isSup reports whether f itself is a supplementary
// file; otherwise s names the file that f needs. s is nil if f has no such section.
func readSup(f *elf.File) (s *supplement, isSup bool, err error) {
	data, err := sectionOf(f, debugSup)
	if data == nil || err != nil {
		return nil, false, err
	}
	bad := broken(f, debugSup, "a version, a flag, a name and a checksum")
	if len(data) < 4 {
		return nil, false, bad
	}
	if v := f.Order.Uint16(data); v < 2 || v > 5 || data[2] > 1 {
		return nil, false, fmt.Errorf("%s: section %s: unknown version %d with flag %d", f.Path,
			debugSup, v, data[2])
	}
	name, rest, ok := bytes.Cut(data[3:], []byte{0})
	size, n := binary.Uvarint(rest) // this is ULEB128
	if !ok || n <= 0 || size > maxID || size > uint64(len(rest)-n) {
		return nil, false, bad
	}
	return &supplement{string(name), bytes.Clone(rest[n : n+int(size)])}, data[2] == 1, nil
}

// stripLink reads .gnu_debuglink, which contains the name of the debug file, padding to 4 bytes,
// and the CRC-32 of the debug file's bytes. ok is false if the section is missing or damaged.
func stripLink(f *elf.File) (name string, crc uint32, ok bool) {
	data, err := sectionOf(f, debuglink)
	end := bytes.IndexByte(data, 0)
	at := (end + 4) &^ 3
	if err != nil || end <= 0 || len(data) < at+4 {
		return "", 0, false
	}
	return string(data[:end]), f.Order.Uint32(data[at:]), true
}

// sectionOf returns the contents of a section, or nil if there is no such section.
func sectionOf(f *elf.File, name string) ([]byte, error) {
	s := f.Section(name)
	if s == nil || s.Size == 0 {
		return nil, nil
	}
	return s.Data()
}

func broken(f *elf.File, section, want string) error {
	return fmt.Errorf("%s: section %s doesn't hold %s; the file is damaged", f.Path,
		strings.Clone(section), want)
}
