package debugfile

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// withDebugFile returns f joined with its debug file, or f alone if it needs no debug file or none
// is found. It takes ownership of f.
func (s *Search) withDebugFile(f *elf.File) (*elf.File, error) {
	switch {
	case f.HasDWARF():
		return f, nil
	case s.Named == nil:
		return s.findDebugFile(f)
	}
	d, err := s.namedDebugFile(f)
	switch {
	case err != nil:
		f.Close()
		return nil, err
	case d == nil:
		return f, nil
	}
	return join(f, d)
}

// namedDebugFile opens the debug file of f that is in Named. If f has neither a build-id nor a
// .gnu_debuglink, that is the first debug file without a build-id. The result is nil if no file may
// be one.
func (s *Search) namedDebugFile(f *elf.File) (*elf.File, error) {
	list, err := s.named()
	if err != nil {
		return nil, err
	}
	_, _, identified := stripLink(f)
	identified = identified || f.BuildID() != nil
	var looked tried
	for _, n := range list {
		if n.isPkg || n.isSup || !identified && (!n.detached || n.id != nil) {
			continue
		}
		wrong := "it has no DWARF (.debug_info)"
		if n.hasDWARF {
			d, err := elf.Open(n.path)
			if err != nil {
				return nil, err
			}
			if wrong = mismatch(f, d); wrong == "" {
				return d, nil
			}
			d.Close()
		}
		looked.add(n.path, wrong)
	}
	if len(looked) == 0 {
		return nil, nil
	}
	return nil, fmt.Errorf("%s: no DWARF (.debug_info), and no --debug-file is its separate debug "+
		"file: %v; pass the debug file from the same link", f.Path, looked)
}

// join makes one file from a stripped file and its debug file.
func join(f, d *elf.File) (*elf.File, error) {
	if err := d.Complete(f); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// mismatch returns why d is not the debug file of f: their build-ids differ; or one of them has no
// build-id, and the CRC in f is not that of d. It returns "" if d may be the debug file.
// Rule: separate debug files: which belong to the file.
func mismatch(f, d *elf.File) string {
	want, has := f.BuildID(), d.BuildID()
	switch {
	case want != nil && has != nil && bytes.Equal(want, has):
	case want != nil && has != nil:
		return fmt.Sprintf("its build-id is %x, not %x", has, want)
	default:
		_, crc, ok := stripLink(f)
		if is := crc32.ChecksumIEEE(d.Bytes()); ok && is != crc {
			return fmt.Sprintf("its CRC is %08x, not %08x", is, crc)
		}
	}
	return ""
}

func (s *Search) findDebugFile(f *elf.File) (*elf.File, error) {
	var looked tried
	for _, path := range s.debugFiles(f) {
		if info, err := os.Stat(path); err != nil || sameFile(info, f.Path) {
			looked.add(path, "")
			continue
		}
		d, err := elf.Open(path)
		if err != nil {
			looked.add(path, "not an ELF file")
			continue
		}
		wrong := "no DWARF"
		if d.HasDWARF() {
			wrong = mismatch(f, d)
		}
		if wrong == "" {
			s.tell("%s: its debug file is %s", f.Path, path)
			return join(f, d)
		}
		looked.add(path, wrong)
		d.Close()
	}
	if len(looked) > 0 {
		s.tell("%s: no debug file at %v", f.Path, looked)
	}
	return f, nil
}

func sameFile(info os.FileInfo, path string) bool {
	other, err := os.Stat(path)
	return err == nil && os.SameFile(info, other)
}

// debugFiles returns the paths at which the debug file of f may be, in GDB's order.
// Rule: separate debug files: where they are searched. Source: GDB
// find_separate_debug_file_by_buildid, find_separate_debug_file_by_debuglink.
func (s *Search) debugFiles(f *elf.File) []string {
	dirs := s.dirs()
	if len(dirs) == 0 {
		return nil
	}
	var list []string
	if id := f.BuildID(); len(id) > 1 && len(id) <= maxID {
		for _, dir := range dirs {
			list = append(list, byBuildID(dir, id))
		}
	}
	name, _, ok := stripLink(f)
	if !ok {
		return list
	}
	for _, home := range homes(f.Path) {
		list = append(list, filepath.Join(home, name), filepath.Join(home, ".debug", name))
		if home, err := filepath.Abs(home); err == nil {
			for _, dir := range dirs {
				list = append(list, filepath.Join(dir, home, name))
			}
		}
	}
	return list
}
