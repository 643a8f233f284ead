package elf

import (
	"fmt"
	"io"
	"os"
)

// Input is an ELF file to read: its own file, or a member of an archive. It holds no
// resources; each Open maps the bytes anew.
type Input struct {
	// Label names the input in messages: its path, or archive(member).
	Label string

	path   string // of the file that holds the bytes
	offset int64  // of the bytes in it
	size   int64  // -1: to the end of the file
	thin   bool   // whether it is a member of a thin archive
}

// OpenInput lists the inputs at path: the members of an archive, without its symbol table, in their
// order; or the file itself. Labels may repeat. The archive may be of GNU, BSD or thin format. What
// thin archives name several times is listed once: what is made of the members is that of a set.
// If follow is not nil, it is an error if they name a file that isn't in it. There is nothing to
// close.
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
		return nil, fmt.Errorf("%s: member of a thin archive, whose files must stay where they were: %w",
			in.Label, err)
	case err != nil:
		return nil, err
	}
	return openMapping(in.Label, in.path, m)
}

// Path is the path of the file that holds the bytes of the input; whole says whether it holds
// nothing else, as the files of thin archives.
func (in Input) Path() (path string, whole bool) { return in.path, in.size < 0 }

// readMagic reads the first bytes of a file, as many as the magic number of an archive has. It does
// not wait for pipes and the like, which cannot be archives.
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
