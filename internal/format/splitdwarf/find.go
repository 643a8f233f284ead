package splitdwarf

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Found is a split unit. It is good until it is closed.
type Found struct {
	Data *dwarf.Data
	Unit *dwarf.Unit
	// Number numbers the units that were found for an input, from 1 on.
	Number uint64

	files *Files
	file  *opened // nil: it is in a package
}

// Close says that the unit is not used any more.
func (u *Found) Close() {
	if u.file != nil {
		u.files.release(u.file)
	}
}

// Load makes the split unit of the skeleton unit that r has loaded the one that is read. It returns
// nil if that is no skeleton unit.
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

// maxSame bounds how many skeleton units may stand for one split unit: as many as there are objects
// of one compilation's result in a link.
const maxSame = 64

// find finds the split unit of a skeleton.
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

// findFile finds the split unit of a skeleton in a .dwo file.
func (f *Files) findFile(s *dwarf.Skeleton) (*Found, error) {
	places := f.places(s)
	var problem error
	for _, path := range places {
		if !f.finder.follows() && !isFile(path) {
			continue
		}
		o, err := f.use(path)
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
	if problem == nil && f.finder.follows() {
		return nil, fmt.Errorf("split DWARF: the unit is in %.200q (dwo id %#016x), and --follow doesn't "+
			"name a file %.200s; name it, or a package of .dwo files by --dwp", s.Name, s.ID,
			message.Printable(filepath.Base(s.Name)))
	}
	if problem != nil {
		return nil, fmt.Errorf("split DWARF: the unit is in %.200q (dwo id %#016x), but %w", s.Name,
			s.ID, problem)
	}
	return nil, fmt.Errorf("split DWARF: the unit is in %.200q (dwo id %#016x), which is not found%s;"+
		" name the directory of the .dwo files by --dwo-dir, or a package of them by --dwp", s.Name,
		s.ID, f.looked(places))
}

// mismatch tells what is wrong with a .dwo file that doesn't have the unit.
func mismatch(o *opened) error {
	for i := range o.data.Units {
		if u := &o.data.Units[i]; u.Kind == dwarf.UnitCompile {
			return fmt.Errorf("%s is of another compilation (dwo id %#016x); compile again, or name the "+
				"directory of the right one by --dwo-dir", o.path, u.Signature)
		}
	}
	return fmt.Errorf("%s has no split unit (.debug_info.dwo); compile again", o.path)
}

// maxTold is how many of the places are reported at which a file was looked for.
const maxTold = 4

// looked tells where was looked for a file.
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

// maxParts bounds how many ends of a path are tried.
const maxParts = 64

// places lists where the .dwo file of a skeleton may be, in the order in which it is looked for.
// With --follow these are the files of its name. Else they are in the directories that the user
// names, and in that of the input, at the path that the compiler gave it, then at ever shorter ends
// of that; then, if the user names no directory, where the compiler wrote it, if it says where that
// is: a build may have put . in place of the directory.
func (f *Files) places(s *dwarf.Skeleton) []string {
	if s.Name == "" || strings.ContainsRune(s.Name, 0) {
		return nil
	}
	if f.finder.follows() {
		return f.finder.followed(s.Name)
	}
	dirs := slices.Clone(f.finder.Dirs)
	if f.main.Holder != "" {
		dirs = append(dirs, filepath.Dir(f.main.Holder))
	}
	parts := strings.FieldsFunc(filepath.Clean(s.Name), func(c rune) bool { return c == '/' })
	for len(parts) > 0 && parts[0] == ".." { // nothing above the directories is read
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
	if len(f.finder.Dirs) == 0 && filepath.IsAbs(written) {
		add(filepath.Clean(written))
	}
	return list
}
