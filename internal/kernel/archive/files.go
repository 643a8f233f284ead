package archive

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// files are the files of an archive, which is a directory or a tar archive.
type files interface {
	list() ([]string, error)
	// open opens a file, and returns its size in bytes. It may be called concurrently.
	open(name string) (io.ReadCloser, int64, error)
}

var (
	errMissing    = errors.New("the file is missing; " + remake)
	errNotRegular = errors.New("not a regular file; " + remake)
)

type directory string

func (d directory) list() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (d directory) open(name string) (io.ReadCloser, int64, error) {
	path := filepath.Join(string(d), name)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, errMissing
	case err != nil:
		return nil, 0, err
	case !info.Mode().IsRegular():
		return nil, 0, errNotRegular
	}
	f, err := os.Open(path)
	return f, info.Size(), err
}

// Below returns the paths of the files below a directory for which match returns true. The paths
// are sorted, and relative to the directory. The directory itself may be a symbolic link.
func Below(dir string, match func(rel string) bool) (rels []string, err error) {
	if dir, err = filepath.EvalSymlinks(dir); err != nil { // WalkDir doesn't follow links
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
