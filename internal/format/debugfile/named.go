package debugfile

import (
	"bytes"
	stdelf "debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// named is an ELF file in Search.Named that may be a debug file or a supplementary file, or is a
// package of .dwo files.
type named struct {
	path     string
	id       []byte // the build-id, or in DWARF 5's supplementary files the checksum
	isPkg    bool   // has the index of a package of .dwo files
	isSup    bool   // a supplementary file: DWARF, but no sections of a program
	hasDWARF bool
	detached bool // has the headers of sections, but not their contents
}

// errInterrupted is the error in other threads if inspect panicked.
var errInterrupted = errors.New("another thread failed to open the files of --debug-file")

// named returns the files in Named that were found out about, in order.
func (s *Search) named() ([]*named, error) {
	s.once.Do(func() {
		s.err = errInterrupted
		s.list, s.err = s.readNamed()
	})
	return s.list, s.err
}

// checkNamed returns an error if a file in Named doesn't exist. It opens no file.
func (s *Search) checkNamed() error {
	for _, path := range s.Named {
		if path != "" {
			if _, err := os.Stat(path); err != nil {
				return fmt.Errorf("--debug-file: %w", err)
			}
		}
	}
	return nil
}

// readNamed finds out from the sections of the files in Named what each may be. It leaves out
// archives and .dwo files: these are looked for by name, and most need not be opened.
func (s *Search) readNamed() (list []*named, err error) {
	for _, path := range s.Named {
		if path == "" || strings.HasSuffix(path, ".dwo") || elf.IsArchive(path) {
			continue
		}
		f, err := elf.Open(path)
		if err != nil {
			return nil, err
		}
		n, err := inspect(f)
		f.Close()
		if err != nil {
			return nil, err
		}
		if n != nil {
			list = append(list, n)
		}
	}
	return list, nil
}

// inspect returns nil if f can only be a .dwo file.
func inspect(f *elf.File) (*named, error) {
	n := &named{path: f.Path, id: bytes.Clone(f.BuildID()), hasDWARF: f.HasDWARF()}
	n.isPkg = f.Section(".debug_cu_index") != nil || f.Section(".debug_tu_index") != nil
	if !n.isPkg && !n.hasDWARF && f.Section(".debug_info.dwo") != nil {
		return nil, nil
	}
	n.isSup = n.hasDWARF
	for _, s := range f.Sections {
		if s.Alloc() && s.Type != stdelf.SHT_NOTE {
			n.isSup = false
			n.detached = n.detached || s.Type == stdelf.SHT_NOBITS && s.Flags&stdelf.SHF_EXECINSTR != 0
		}
	}
	sup, is, err := readSup(f)
	if is && err == nil {
		n.id, n.isSup = sup.id, true
	}
	return n, err
}

// Packages returns the paths of the packages of .dwo files (.dwp) that may have split units of the
// file at path: those in Named, or else those next to the file and in Dirs, with its name.
func (s *Search) Packages(path string) (list []string, err error) {
	if s.Named != nil {
		all, err := s.named()
		for _, n := range all {
			if n.isPkg {
				list = append(list, n.path)
			}
		}
		return list, err
	}
	if path == "" || s.Off() {
		return nil, nil
	}
	places := []string{path}
	for _, dir := range s.Dirs {
		if dir != "" {
			places = append(places, filepath.Join(dir, filepath.Base(path)))
		}
	}
	for _, place := range places {
		if info, err := os.Stat(place + ".dwp"); err == nil && info.Mode().IsRegular() {
			list = append(list, place+".dwp")
		}
	}
	return list, nil
}
