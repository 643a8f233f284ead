package split

import (
	"fmt"
	"sync"

	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/elf"
)

// source is an ELF file whose units are split: a file, or a member of an archive. Those of
// archives are open only while they are read.
type source struct {
	input elf.Input
	mu    sync.Mutex
	users int
	file  *elf.File
	data  *dwarf.Data
}

// open makes file and data available until close is called.
func (s *source) open() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		f, err := s.input.Open()
		if err != nil {
			return err
		}
		if f.Section(".gnu_debugaltlink") != nil || f.Section(".debug_sup") != nil {
			defer f.Close()
			return fmt.Errorf("%s: some of the DWARF is in a supplementary file (dwz -m), which btfgen "+
				"split doesn't read; convert the file as a whole with btfgen object", f.Path)
		}
		d, err := dwarf.New(f)
		if err != nil {
			f.Close()
			return err
		}
		s.file, s.data = f, d
	}
	s.users++
	return nil
}

func (s *source) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users == 0 {
		s.file.Close()
	}
}

// unitAt returns the unit of a key. The source is open.
func (s *source) unitAt(key unitKey) *dwarf.Unit {
	if u := s.data.TypeUnit(key.signature); u != nil && u.Off == key.off &&
		u.Section.Index == key.section {
		return u
	}
	return s.data.UnitAt(s.file.Sections[key.section], key.off)
}
