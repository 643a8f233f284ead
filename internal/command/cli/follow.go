package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many symbolic links are followed, the same number as on Linux.
const maxLinks = 40

// follow resolves symbolic links at the end of a path; their target need not exist. The result
// direct is set if the target must be written in place, because it is a device, a pipe, or a
// process's open file (a link such as /dev/stdout). Such an open file can't be replaced by a new
// file: it may be deleted, or open for appending.
func follow(path string) (end string, direct bool, err error) {
	for range maxLinks {
		info, err := os.Lstat(path)
		if err != nil {
			return path, false, nil // it will be created
		}
		dir, _ := filepath.Split(path)
		real, _ := filepath.EvalSymlinks(dir)
		if info.Mode()&os.ModeSymlink == 0 || strings.HasPrefix(real, "/proc/") {
			return path, !info.Mode().IsRegular(), nil
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", false, fmt.Errorf("output: %w", err)
		}
		if path = to; !filepath.IsAbs(to) {
			path = dir + to
		}
	}
	return "", false, fmt.Errorf("output: %w",
		&os.PathError{Op: "open", Path: path, Err: syscall.ELOOP})
}
