package archive

import (
	"io/fs"
	"path/filepath"
)

// Below returns the files in a directory, at any depth, that match, in order, by their paths from
// there on. The directory may be a symbolic link.
func Below(dir string, match func(rel string) bool) (rels []string, err error) {
	if dir, err = filepath.EvalSymlinks(dir); err != nil { // WalkDir doesn't follow them
		return nil, err
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err == nil && match(rel) {
			rels = append(rels, rel)
		}
		return err
	})
	return rels, err
}
