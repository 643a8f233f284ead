package elf

import (
	"fmt"
	"path/filepath"
)

// lister lists the members of archives that name other archives. It reads each archive once and
// lists each member once, so the sizes of the files bound the work.
type lister struct {
	outer   string          // the archive that the user named
	follow  map[string]bool // other files that may be read; nil: any
	read    map[string]*archive
	entered map[string]bool // archives whose members are being listed
	listed  map[place]bool
	list    []Input
}

// archive is the content of one archive, without the content of archives that it names.
type archive struct {
	members  []member
	thin     bool
	byHeader map[int64]*member
}

// place is a file and the offset of a member in it, or -1 for all members of an archive.
type place struct {
	path   string
	offset int64
}

// openArchive lists the members of the archive at path. Where a thin archive names another archive,
// the members of that archive are listed instead.
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

// enter calls the function do with the archive at path. It fails if the archive contains itself.
func (l *lister) enter(path string, do func(a *archive) error) error {
	clean := filepath.Clean(path)
	if l.entered[clean] {
		return fmt.Errorf("%s: the thin archive contains itself"+remake, path)
	}
	l.entered[clean] = true
	defer delete(l.entered, clean)
	a, err := l.open(path)
	if err != nil {
		return err
	}
	return do(a)
}

func (l *lister) all(path string, a *archive) error {
	if !l.isFirst(path, -1) {
		return nil
	}
	for i := range a.members {
		if err := l.add(path, &a.members[i]); err != nil {
			return err
		}
	}
	return nil
}

// add adds member m of the archive at path to the list or, if m names an archive, its members.
func (l *lister) add(path string, m *member) error {
	if m.thin && l.follow != nil && !l.follow[filepath.Clean(m.path)] {
		return fmt.Errorf("%s: this member of a thin archive is in the file %s, which no "+
			"--debug-file names; add --debug-file for it, or convert the members instead of the "+
			"archive", m.Label, m.path)
	}
	inner := func(a *archive) error { return l.all(m.path, a) }
	switch {
	case m.thin && m.offset != 0: // GNU ar names a nested member by the offset of its header
		inner = func(a *archive) error {
			if x := a.byHeader[m.offset]; x != nil {
				return l.add(m.path, x)
			}
			return fmt.Errorf("no member of %s starts at byte %d"+remake, m.path, m.offset)
		}
	case m.thin && l.isArchive(m.path):
	case l.isFirst(m.path, m.offset):
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

// isFirst reports whether a place is new, and adds it to l.listed.
func (l *lister) isFirst(path string, offset int64) bool {
	at := place{path, offset}
	if l.listed[at] {
		return false
	}
	l.listed[at] = true
	return true
}

// isArchive reports whether the file at path is an archive. The file may be missing. Input.Open
// reports problems with files that are not archives.
func (l *lister) isArchive(path string) bool {
	if l.read[path] != nil {
		return true
	}
	if l.listed[place{path, 0}] {
		return false
	}
	return IsArchive(path)
}
