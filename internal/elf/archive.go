package elf

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const (
	archiveMagic = "!<arch>\n"
	thinMagic    = "!<thin>\n"
)

// Bounds for thin archives that name each other.
const (
	maxArchiveDepth   = 16
	maxArchiveMembers = 1 << 20
)

// Archive is the table of contents of an ar archive.
type Archive struct {
	Path    string
	Thin    bool // the members are files outside the archive
	members []Member
}

// Member is one file of an archive, or a file of its own (see [OpenInput]). It
// holds no resources: each Open maps the bytes anew.
type Member struct {
	// Name is the member's name in the archive: a file name, in a thin archive
	// a path relative to it.
	Name string
	// Label names the member in messages: archive(name), or the path.
	Label string

	path   string // of the file that holds the bytes
	offset int64  // of the bytes in it
	size   int64  // -1: to the end of the file
	data   []byte // the bytes, if the archive was in memory
	thin   bool
	header int64 // offset of the member's header in its archive
}

// IsArchive reports whether the file at path starts like an ar archive. It is
// false for files that cannot be read.
func IsArchive(path string) bool {
	magic, err := readMagic(path)
	return err == nil && isArchiveMagic(magic)
}

func isArchiveMagic(magic string) bool { return magic == archiveMagic || magic == thinMagic }

// readMagic reads the first bytes of a file, as many as an archive magic has.
// It does not wait for pipes and the like, which have none.
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

// OpenArchive reads the table of contents of the archive at path: GNU, BSD or
// thin. Members of archives that a thin archive names are listed in its place.
// There is nothing to close.
func OpenArchive(path string) (*Archive, error) {
	left := maxArchiveMembers
	return openArchive(path, nil, &left)
}

// openArchive reads an archive that the archives in outer led to. left is how
// many more members may be listed.
func openArchive(path string, outer []string, left *int) (*Archive, error) {
	clean := filepath.Clean(path)
	for _, o := range outer {
		if o == clean {
			return nil, fmt.Errorf("%s: thin archive that contains itself", path)
		}
	}
	if len(outer) >= maxArchiveDepth {
		return nil, fmt.Errorf("%s: thin archives nested more than %d deep", path, maxArchiveDepth)
	}
	m, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	defer m.close()
	a, err := parseArchive(path, m.data, left)
	if err != nil {
		return nil, err
	}
	if !a.Thin {
		return a, nil
	}
	return a, a.expand(append(outer, clean), left)
}

// ParseArchive reads an archive that is in memory. name stands for it in
// errors and locates the members of a thin one; nested ones are not expanded.
func ParseArchive(name string, data []byte) (*Archive, error) {
	left := maxArchiveMembers
	a, err := parseArchive(name, data, &left)
	if err != nil {
		return nil, err
	}
	for i := range a.members {
		if m := &a.members[i]; !a.Thin {
			m.data = data[m.offset : m.offset+m.size]
		}
	}
	return a, nil
}

// Members returns the members in archive order, without symbol tables. Names
// may repeat. The caller must not modify the slice.
func (a *Archive) Members() []Member { return a.members }

// expand replaces the members of a thin archive that are archives, or stand
// for a member of one, by what they stand for.
func (a *Archive) expand(outer []string, left *int) error {
	nested := map[string]*Archive{}
	open := func(path string) (*Archive, error) {
		if n := nested[path]; n != nil {
			return n, nil
		}
		n, err := openArchive(path, outer, left)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.Path, err)
		}
		nested[path] = n
		return n, nil
	}
	out := make([]Member, 0, len(a.members))
	for _, m := range a.members {
		if m.offset != 0 { // GNU ar flattens: a header of the nested archive
			n, err := open(m.path)
			if err != nil {
				return err
			}
			inner, ok := n.memberAt(m.offset)
			if !ok {
				return fmt.Errorf("%s: no member of %s starts at byte %d; make the archive again", a.Path,
					m.path, m.offset)
			}
			inner.header = m.header
			inner.Label = a.Path + "(" + inner.Label + ")"
			out = append(out, inner)
			continue
		}
		magic, err := readMagic(m.path)
		if err != nil || !isArchiveMagic(magic) { // a missing file is reported when it is opened
			out = append(out, m)
			continue
		}
		n, err := open(m.path)
		if err != nil {
			return err
		}
		if *left -= len(n.members); *left < 0 {
			return tooManyMembers(a.Path)
		}
		for _, inner := range n.members {
			inner.header = m.header
			inner.Label = a.Path + "(" + inner.Label + ")"
			out = append(out, inner)
		}
	}
	a.members = out
	return nil
}

// memberAt finds the member whose header is at an offset.
func (a *Archive) memberAt(header int64) (Member, bool) {
	for _, m := range a.members {
		if m.header == header {
			return m, true
		}
	}
	return Member{}, false
}

func tooManyMembers(path string) error {
	return fmt.Errorf("%s: more than %d archive members", path, maxArchiveMembers)
}

// Open maps the member. That it is no ELF file is an error that names the
// archive and the member and says what it is.
func (m Member) Open() (*File, error) {
	if m.data != nil {
		return Parse(m.Label, m.data)
	}
	mp, err := mapRange(m.path, m.offset, m.size)
	switch {
	case err != nil && m.thin:
		return nil, fmt.Errorf("%s: member of a thin archive, which needs its files where they were: %w",
			m.Label, err)
	case err != nil:
		return nil, err
	}
	return openMapping(m.Label, mp)
}

// Input is something to read: a member of an archive, or a file of its own.
type Input = Member

// OpenInput lists what there is to read at path: the members of an archive, or
// the file itself.
func OpenInput(path string) ([]Input, error) {
	magic, err := readMagic(path)
	if err != nil {
		return nil, err
	}
	if !isArchiveMagic(magic) {
		return []Input{{Name: path, Label: path, path: path, size: -1}}, nil
	}
	a, err := OpenArchive(path)
	if err != nil {
		return nil, err
	}
	return a.members, nil
}
