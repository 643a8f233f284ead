package splitdwarf

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Found is a split unit. It is valid until Close is called.
type Found struct {
	Data *dwarf.Data
	Unit *dwarf.Unit
	// Number is the unit's place among the units that were found for an input, starting at 1.
	Number uint64

	files *Files
	file  *opened // nil if the unit is in a package
}

// Close releases the file with the unit. Each Found that Load returns must be closed.
func (u *Found) Close() {
	if u.file != nil {
		u.files.release(u.file)
	}
}

// Load makes r read the split unit of r's skeleton unit. For any other unit, Load returns nil.
func (f *Files) Load(r *dwarf.Reader) (*Found, error) {
	s, err := r.Skeleton()
	if err != nil || s == nil {
		return nil, err
	}
	f.once.Do(f.openPackages)
	if f.err != nil {
		return nil, f.err
	}
	u, err := f.find(s)
	if err != nil {
		return nil, r.Errorf(r.Root.Off, "%v", err)
	}
	if err := r.LoadSplit(u.Data, u.Unit, s); err != nil {
		u.Close()
		return nil, err
	}
	return u, nil
}

// maxSame limits how many skeleton units may refer to one split unit. Several skeleton units share
// a split unit if several of the linked object files come from one compilation.
const maxSame = 64

func (f *Files) find(s *dwarf.Skeleton) (*Found, error) {
	f.mu.Lock()
	f.found[s.ID]++
	n := f.found[s.ID]
	f.mu.Unlock()
	if n > maxSame {
		return nil, fmt.Errorf("more than %d units have the dwo id %#016x; the file is damaged",
			maxSame, s.ID)
	}
	for _, d := range f.packages {
		if u := d.SplitUnit(s.ID); u != nil {
			return &Found{Data: d, Unit: u, Number: f.count.Add(1)}, nil
		}
	}
	return f.findFile(s)
}

func (f *Files) findFile(s *dwarf.Skeleton) (*Found, error) {
	places, search := f.places(s), f.finder.files()
	var problem error
	for _, path := range places {
		if search.Named == nil && !isFile(path) {
			continue
		}
		o, err := f.acquire(path)
		if err != nil {
			if problem == nil {
				problem = err
			}
			continue
		}
		if u := o.data.SplitUnit(s.ID); u != nil {
			return &Found{Data: o.data, Unit: u, Number: f.count.Add(1), files: f, file: o}, nil
		}
		if problem == nil {
			problem = mismatch(o)
		}
		f.release(o)
	}
	unit := fmt.Sprintf("split DWARF: the unit is in %.200q (dwo id %#016x)", s.Name, s.ID)
	switch {
	case problem != nil:
		return nil, fmt.Errorf("%s, but %w", unit, problem)
	case search.Named != nil:
		return nil, fmt.Errorf("%s, but no --debug-file names a file %.200s; add --debug-file for it "+
			"or for a package of .dwo files", unit, message.Printable(filepath.Base(s.Name)))
	case search.Off():
		return nil, fmt.Errorf("%s, but --debug-dir= turns off the search for it; pass it with "+
			"--debug-file", unit)
	}
	return nil, fmt.Errorf("%s, which was not found%s; pass the directory of the .dwo files with "+
		"--debug-dir, or a package of them with --debug-file", unit, f.looked(places))
}

func mismatch(o *opened) error {
	for i := range o.data.Units {
		if u := &o.data.Units[i]; u.Kind == dwarf.UnitCompile {
			return fmt.Errorf("%s is from another compilation (dwo id %#016x); compile again, or "+
				"pass the matching .dwo file with --debug-file", o.path, u.Signature)
		}
	}
	return fmt.Errorf("%s has no split unit (.debug_info.dwo); compile again", o.path)
}

// maxTold limits how many of the searched paths an error lists.
const maxTold = 4

// looked lists, for an error message, the places where a file was looked for.
func (f *Files) looked(places []string) string {
	var where []string
	for _, d := range f.packages {
		where = append(where, d.File.Path)
	}
	if where = append(where, places...); len(where) > maxTold {
		where = append(where[:maxTold:maxTold], fmt.Sprintf("%d more", len(where)-maxTold))
	}
	if len(where) == 0 {
		return ""
	}
	return " at " + strings.Join(where, ", ")
}

// maxParts limits how many trailing parts of a path are tried.
const maxParts = 64

// places lists the paths at which the .dwo file of a skeleton may be, in search order. With
// --debug-file, these are the named files with the same base name. Otherwise, they are paths in the
// directories that the user names, then in the directory of the input. In each directory, the file
// is looked for at the path that the compiler recorded, then at shorter and shorter suffixes of
// that path. If the user names no directory, the last place is the absolute path at which the
// compiler wrote the file, unless a build has replaced the compilation directory with ".".
// Rule: split DWARF (-gsplit-dwarf): where .dwo files are searched. Source: elfutils
// libdw/libdw_find_split_unit.c.
func (f *Files) places(s *dwarf.Skeleton) []string {
	if s.Name == "" || strings.ContainsRune(s.Name, 0) {
		return nil
	}
	search := f.finder.files()
	if search.Named != nil {
		return f.finder.named(s.Name)
	}
	if search.Off() {
		return nil
	}
	dirs := slices.DeleteFunc(slices.Clone(search.Dirs), func(dir string) bool { return dir == "" })
	if f.main.Holder != "" {
		dirs = append(dirs, filepath.Dir(f.main.Holder))
	}
	parts := strings.FieldsFunc(filepath.Clean(s.Name), func(c rune) bool { return c == '/' })
	for len(parts) > 0 && parts[0] == ".." { // nothing outside the directories is read
		parts = parts[1:]
	}
	parts = parts[max(0, len(parts)-maxParts):]
	var list []string
	add := func(path string) {
		if !slices.Contains(list, path) {
			list = append(list, path)
		}
	}
	for _, dir := range dirs {
		for i := range parts {
			add(filepath.Join(dir, filepath.Join(parts[i:]...)))
		}
	}
	written := s.Name
	if !filepath.IsAbs(written) {
		written = filepath.Join(s.Dir, s.Name)
	}
	if search.Dirs == nil && filepath.IsAbs(written) {
		add(filepath.Clean(written))
	}
	return list
}
