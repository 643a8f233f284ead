package buildfiles

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Change is a file to write, or to remove if Content is nil.
type Change struct {
	Path    string
	Content []byte
}

// Changes returns what must change in the BUILD files below dir so that they describe the packages,
// and in the file Skipped in dir so that its content is skipped. Changes writes nothing.
func Changes(dir string, packages map[string]*Package, skipped []byte) ([]Change, error) {
	stale, err := marked(dir)
	if err != nil {
		return nil, err
	}
	for d := range packages {
		stale[d] = true
	}
	var changes []Change
	for _, d := range slices.Sorted(maps.Keys(stale)) {
		path, old, err := find(filepath.Join(dir, d))
		if err != nil {
			return nil, err
		}
		content, err := Merge(path, old, packages[d])
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(content, old) || (content == nil) != (old == nil) {
			changes = append(changes, Change{path, content})
		}
	}
	list := filepath.Join(dir, Skipped)
	if old, err := os.ReadFile(list); err != nil || !bytes.Equal(old, skipped) {
		changes = append(changes, Change{list, skipped})
	}
	return changes, nil
}

// find returns the BUILD file of a directory. content is nil if there is none yet.
func find(dir string) (path string, content []byte, err error) {
	for _, name := range []string{"BUILD.bazel", "BUILD"} {
		path = filepath.Join(dir, name)
		if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
			continue // BUILD may be a directory
		}
		content, err = os.ReadFile(path)
		return path, content, err
	}
	return filepath.Join(dir, "BUILD.bazel"), nil, nil
}

// marked returns the directories whose BUILD files have rules that this package wrote.
func marked(dir string) (map[string]bool, error) {
	dirs := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "Documentation"):
			return fs.SkipDir
		case !d.Type().IsRegular() || d.Name() != "BUILD.bazel" && d.Name() != "BUILD":
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if bytes.Contains(content, []byte(`"`+tag+`"`)) {
			rel, err := filepath.Rel(dir, filepath.Dir(path))
			if err != nil {
				return err
			}
			dirs[filepath.ToSlash(rel)] = true
		}
		return nil
	})
	return dirs, err
}

// Apply makes the changes. It replaces an existing file atomically.
func Apply(changes []Change) error {
	for _, c := range changes {
		if c.Content == nil {
			if err := os.Remove(c.Path); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(c.Path), 0o777); err != nil {
			return err
		}
		if err := replace(c.Path, c.Content); err != nil {
			return err
		}
	}
	return nil
}

func replace(path string, content []byte) error {
	if err := os.WriteFile(path+".tmp", content, 0o666); err != nil {
		return err
	}
	err := os.Rename(path+".tmp", path)
	if err != nil {
		os.Remove(path + ".tmp")
	}
	return err
}

// Files returns a sorted list of the tree's files that the rules in the packages use.
func Files(packages map[string]*Package) (names []string) {
	for dir, p := range packages {
		for _, file := range p.Files {
			names = append(names, path.Join(dir, file))
		}
	}
	slices.Sort(names)
	return names
}

// Link creates, below dir, symbolic links to those files of a tree that the rules use.
func Link(tree, dir string, packages map[string]*Package) error {
	for _, name := range Files(packages) {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		if err := os.Symlink(filepath.Join(tree, filepath.FromSlash(name)), to); err != nil {
			return err
		}
	}
	return nil
}
