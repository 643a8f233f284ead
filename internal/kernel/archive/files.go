package archive

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// files are the files of an archive, in a directory or a tar archive.
type files interface {
	// list returns the names of all files.
	list() ([]string, error)
	// open opens a file, and returns its size in bytes. Threads may call it at the same time.
	open(name string) (io.ReadCloser, int64, error)
}

var (
	errMissing    = errors.New("the file is missing")
	errNotRegular = errors.New("not a regular file")
)

// directory has files, by its path.
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
