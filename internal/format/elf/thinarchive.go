package elf

import (
	"fmt"
	"path/filepath"
)

// lister lists the members of archives that name each other. Each archive is read once, and each
// member listed once, however many others name it: the work is that of the files' own sizes.
type lister struct {
	outer   string          // the archive that the user named
	follow  map[string]bool // the files that may be read besides; nil: all
	read    map[string]*archive
	entered map[string]bool // archives whose members are being listed
	listed  map[place]bool
	list    []Input
}

// archive is one archive that was read, without what it names.
type archive struct {
	members  []member
	thin     bool
	byHeader map[int64]*member
}

// place is where a member's bytes are: a file, and the offset in it, -1 for the archive itself.
type place struct {
	path   string
	offset int64
}

// openArchive lists the members of the archive at path. Where a thin archive names another archive,
// that one's members are listed in its place.
func openArchive(path string, follow []string) ([]Input, error) {
	l := &lister{outer: path, read: map[string]*archive{}, entered: map[string]bool{},
		listed: map[place]bool{}}
	if follow != nil {
		l.follow = make(map[string]bool, len(follow))
	}
	for _, path := range follow {
		l.follow[filepath.Clean(path)] = true
	}
	err := l.enter(path, func(a *archive) error { return l.all(path, a) })
	return l.list, err
}

// open reads the archive at path.
func (l *lister) open(path string) (*archive, error) {
	if a := l.read[path]; a != nil {
		return a, nil
	}
	m, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	defer m.close()
	a := &archive{}
	if a.members, a.thin, err = parseArchive(path, m.data); err != nil {
		return nil, err
	}
	a.byHeader = make(map[int64]*member, len(a.members))
	for i := range a.members {
		a.byHeader[a.members[i].header] = &a.members[i]
	}
	l.read[path] = a
	return a, nil
}

// enter calls do with the archive at path. No other such call for it may be under way.
func (l *lister) enter(path string, do func(a *archive) error) error {
	clean := filepath.Clean(path)
	if l.entered[clean] {
		return fmt.Errorf("%s: thin archive that contains itself", path)
	}
	l.entered[clean] = true
	defer delete(l.entered, clean)
	a, err := l.open(path)
	if err != nil {
		return err
	}
	return do(a)
}

// all lists the members of an archive.
func (l *lister) all(path string, a *archive) error {
	if !l.first(path, -1) {
		return nil
	}
	for i := range a.members {
		if err := l.add(path, &a.members[i]); err != nil {
			return err
		}
	}
	return nil
}

// add lists a member of the archive at path, or of the archives that it names.
func (l *lister) add(path string, m *member) error {
	if m.thin && l.follow != nil && !l.follow[filepath.Clean(m.path)] {
		return fmt.Errorf("%s: member of a thin archive in the file %s, which --follow doesn't name; "+
			"name it, or convert the members instead of the archive", m.Label, m.path)
	}
	inner := func(a *archive) error { return l.all(m.path, a) }
	switch {
	case m.thin && m.offset != 0: // GNU ar names a member of the nested archive by its header's offset
		inner = func(a *archive) error {
			if x := a.byHeader[m.offset]; x != nil {
				return l.add(m.path, x)
			}
			return fmt.Errorf("no member of %s starts at byte %d; make the archive again", m.path,
				m.offset)
		}
	case m.thin && l.isArchive(m.path):
	case l.first(m.path, m.offset):
		in := m.Input
		if path != l.outer {
			in.Label = l.outer + "(" + in.Label + ")"
		}
		l.list = append(l.list, in)
		return nil
	default:
		return nil
	}
	err := l.enter(m.path, inner)
	if err != nil && path == l.outer {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// first reports whether a place is new, and notes it.
func (l *lister) first(path string, offset int64) bool {
	at := place{path, offset}
	if l.listed[at] {
		return false
	}
	l.listed[at] = true
	return true
}

// isArchive reports whether the file at path, which may be missing, is an archive. Input.Open
// reports what is wrong with one that isn't.
func (l *lister) isArchive(path string) bool {
	if l.read[path] != nil {
		return true
	}
	if l.listed[place{path, 0}] {
		return false
	}
	magic, err := readMagic(path)
	return err == nil && isArchiveMagic(magic)
}
