package elf

import (
	"fmt"
	"io"
	"os"
)

// Input is an ELF file to read: a whole file, or a member of an archive. It holds no resources;
// each call of Open maps the bytes again.
type Input struct {
	// Label names the input in messages: its path, or archive(member).
	Label string

	path   string // path of the file that holds the bytes
	offset int64  // offset of the bytes in that file
	size   int64  // number of bytes; -1: up to the end of the file
	thin   bool   // whether it is a member of a thin archive
}

// OpenInput lists the inputs at path. If the file is not an archive, the only input is the file
// itself. If it is a GNU, BSD or thin archive, the inputs are its members, in order, without the
// symbol table. Several inputs may have the same Label. A member that thin archives name several
// times is listed once. It is an error if follow is not nil and lacks the file of a thin archive's
// member. There is nothing to close.
// Rule: archives: fat, thin, nested. Source: ar(5).
func OpenInput(path string, follow []string) ([]Input, error) {
	magic, err := readMagic(path)
	if err != nil {
		return nil, err
	}
	if !isArchiveMagic(magic) {
		return []Input{{Label: path, path: path, size: -1}}, nil
	}
	return openArchive(path, follow)
}

// Open maps the input and parses it. If it is not an ELF file, the error names the archive and the
// member, and says what the file is.
func (in Input) Open() (*File, error) {
	m, err := mapRange(in.path, in.offset, in.size)
	switch {
	case err != nil && in.thin:
		return nil, fmt.Errorf("%s: this member of a thin archive must stay where it was when the "+
			"archive was made: %w", in.Label, err)
	case err != nil:
		return nil, err
	}
	return openMapping(in.Label, in.path, m)
}

// Path returns the path of the file that holds the bytes of the input. The result whole is false if
// the file is an archive that contains the input. A member of a thin archive is a file itself.
func (in Input) Path() (path string, whole bool) { return in.path, in.size < 0 }

// IsArchive reports whether the file at path is an archive. The file may be missing.
func IsArchive(path string) bool {
	magic, err := readMagic(path)
	return err == nil && isArchiveMagic(magic)
}

// readMagic reads the first bytes of a file: as many as the magic number of an archive has. It does
// not read special files such as pipes, which cannot be archives.
func readMagic(path string) (string, error) {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() {
		return "", err
	}
	fd, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer fd.Close()
	b := make([]byte, len(archiveMagic))
	n, err := io.ReadFull(fd, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return string(b[:n]), err
}
