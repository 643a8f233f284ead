package debugfile

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

func (s *Search) supplement(f *elf.File, link *supplement) (*elf.File, error) {
	needs := fmt.Sprintf("%s: some of the DWARF is in the supplementary file %.200q (dwz -m)", f.Path,
		link.name)
	if len(link.id) > 0 {
		needs += fmt.Sprintf(" with build-id %x", link.id)
	}
	paths := s.supplements(f, link)
	if s.Named != nil {
		list, err := s.named()
		if err != nil {
			return nil, err
		}
		for _, n := range list {
			if n.isSup || len(link.id) > 0 && bytes.Equal(n.id, link.id) {
				paths = append(paths, n.path)
			}
		}
	}
	var looked tried
	for _, path := range paths {
		sup, err := elf.Open(path)
		if err != nil {
			looked.add(path, "")
			continue
		}
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
	switch {
	case s.Named != nil && len(looked) == 0:
		return nil, fmt.Errorf("%s, but no --debug-file names it; add --debug-file for it", needs)
	case s.Named != nil:
		return nil, fmt.Errorf("%s, which is none of %v; pass the supplementary file from the same "+
			"run of dwz with --debug-file", needs, looked)
	case len(looked) == 0:
		return nil, fmt.Errorf("%s, but --debug-dir= turns off the search for it; pass it with "+
			"--debug-file", needs)
	}
	return nil, fmt.Errorf("%s, which was not found at %v; pass it with --debug-file, or the "+
		"directory of debug files with --debug-dir", needs, looked)
}

// mismatch returns "" if sup has the build-id in the link, otherwise the build-id of sup, or "none"
// if sup has none. It is an error if sup itself refers to a supplementary file.
// Rule: supplementary files of dwz: which belong to the file.
func (link *supplement) mismatch(sup *elf.File) (string, error) {
	id := sup.BuildID()
	switch s, isSup, err := readSup(sup); {
	case err != nil:
		return "", err
	case isSup:
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
			err = fmt.Errorf("%s: this supplementary file (dwz -m) refers to another one, %.200q; "+
				"run dwz on files that it has not processed yet", sup.Path, other.name)
		}
		return "", err
	}
	return "", nil
}

// supplements returns the paths at which the supplementary file of f may be:
//   - the name in the link;
//   - that name below .dwz in a directory of debug files, where distributions install it;
//   - the path in such a directory that belongs to the build-id in the link.
//
// Rule: supplementary files of dwz: where they are searched. Source: elfutils dwarf_getalt.
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
