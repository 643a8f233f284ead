package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many symbolic links are followed at most. Linux has the same limit.
const maxLinks = 40

// follow resolves symbolic links at the end of a path; their target need not exist. The result
// direct is set if the target must be written in place: it is a device, a pipe, or a process's open
// file (reached through a link such as /dev/stdout). A new file can't replace an open file, because
// the open file may be deleted, or open for appending.
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
