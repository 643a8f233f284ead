package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is the maximum number of symbolic links that are followed, the same as in Linux.
const maxLinks = 40

// follow returns path or, if path is a symbolic link, the link's target, which need not exist. The
// result direct is set if that file must be written in place: it is a device, a pipe, or an open
// file of a process (reached through a link such as /dev/stdout). A new file can't replace an open
// file, because the open file may be deleted, or open for appending.
// Rule: outputs: symbolic links, devices.
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
