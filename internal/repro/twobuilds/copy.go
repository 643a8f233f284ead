package twobuilds

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// copyTree copies the files, directories and links in a directory, except for the links to Bazel's
// outputs (bazel-*) and for the directory whose path is the parameter except. It removes the bits
// in the umask from the modes, as if the copy had been checked out with this umask.
func copyTree(from, to, except string, umask fs.FileMode) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == except {
			return filepath.SkipDir
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, below)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			// The copy must be writable, whatever the original's mode: files are created in it.
			return os.MkdirAll(target, info.Mode().Perm()&^umask|0o700)
		case d.Type() == fs.ModeSymlink:
			if strings.HasPrefix(d.Name(), "bazel-") {
				return nil
			}
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case d.Type().IsRegular():
			return copyFile(path, target, info.Mode().Perm()&^umask)
		}
		return nil
	})
}

func copyFile(from, to string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode|0o200)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	if err := out.Chmod(mode); err != nil {
		return err
	}
	return out.Close()
}
