package debugfile

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// supplement opens the supplementary file of f.
func (s *Search) supplement(f *elf.File, link *supplement) (*elf.File, error) {
	needs := fmt.Sprintf("%s: some of the DWARF is in the supplementary file %.200q (dwz -m)", f.Path,
		link.name)
	if len(link.id) > 0 {
		needs += fmt.Sprintf(" of build-id %x", link.id)
	}
	if s.Alt != "" {
		sup, err := elf.Open(s.Alt)
		if err != nil {
			return nil, err
		}
		sup.MaxDecompressed = f.MaxDecompressed
		wrong, err := link.mismatch(sup)
		if wrong != "" {
			err = fmt.Errorf("%s; that of %s is %s: give the one that was made with it", needs, s.Alt,
				wrong)
		}
		if err != nil {
			sup.Close()
			return nil, err
		}
		return sup, nil
	}
	var looked tried
	for _, path := range s.supplements(f, link) {
		sup, err := elf.Open(path)
		if err != nil {
			looked.add(path, "")
			continue
		}
		sup.MaxDecompressed = f.MaxDecompressed
		wrong, err := link.mismatch(sup)
		if wrong == "" && err == nil {
			s.tell("%s: its supplementary file is %s", f.Path, path)
			return sup, nil
		}
		sup.Close()
		if err != nil {
			return nil, err
		}
		looked.add(path, "build-id "+wrong)
	}
	if s.Follow != nil {
		return nil, fmt.Errorf("%s, and the command line doesn't name it; give it with --alt", needs)
	}
	if len(looked) == 0 {
		return nil, fmt.Errorf("%s, and --debug-dir= turns looking for it off; give it with --alt",
			needs)
	}
	return nil, fmt.Errorf("%s, which was not found at %v; give it with --alt, or the directory "+
		"where debug files are with --debug-dir", needs, looked)
}

// mismatch returns the build-id of sup, or "none", if it is not the one that the link names. It is
// an error if sup refers to a supplementary file itself.
func (link *supplement) mismatch(sup *elf.File) (string, error) {
	id := sup.BuildID()
	switch s, is, err := readSup(sup); {
	case err != nil:
		return "", err
	case is:
		id = s.id
	}
	if len(link.id) > 0 && !bytes.Equal(link.id, id) {
		if len(id) == 0 {
			return "none", nil
		}
		return fmt.Sprintf("%x", id), nil
	}
	if other, err := supplementOf(sup); other != nil || err != nil {
		if err == nil {
			err = fmt.Errorf("%s: a supplementary file (dwz -m) that refers to another one, %.200q; that "+
				"is not supported: run dwz over files that it has not seen yet", sup.Path, other.name)
		}
		return "", err
	}
	return "", nil
}

// supplements are the paths at which the supplementary file of f may be: as its name says; at that
// name below a .dwz of another directory, where distributions have these files; by its build-id.
func (s *Search) supplements(f *elf.File, link *supplement) []string {
	dirs := s.dirs()
	if len(dirs) == 0 {
		return nil
	}
	var list []string
	if filepath.IsAbs(link.name) {
		list = append(list, filepath.Clean(link.name))
	} else {
		for _, home := range homes(f.Path) {
			list = append(list, filepath.Join(home, link.name))
		}
	}
	below := filepath.Base(link.name)
	if _, rest, ok := strings.Cut("/"+link.name, "/.dwz/"); ok {
		below = rest
	}
	for _, dir := range dirs {
		list = append(list, filepath.Join(dir, ".dwz", below))
		if len(link.id) > 1 {
			list = append(list, byBuildID(dir, link.id))
		}
	}
	return list
}
