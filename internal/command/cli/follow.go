package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// maxLinks is how many symbolic links are followed, as many as Linux does.
const maxLinks = 40

// follow returns what a path names, without symbolic links at its end; what they name need not
// exist. If they lead to a file that this process has open (/dev/stdout), fd is its descriptor,
// else -1. Such a file may have no name any more, or be open for appending, so it is written
// through the descriptor.
func follow(path string) (end string, fd int, err error) {
	for range maxLinks {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&os.ModeSymlink == 0 {
			return path, -1, nil // one that is missing is made
		}
		dir, name := filepath.Split(path)
		if number, err := strconv.Atoi(name); err == nil && isDescriptors(dir) {
			return path, number, nil
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", -1, fmt.Errorf("output: %w", err)
		}
		if path = to; !filepath.IsAbs(to) {
			path = dir + to
		}
	}
	return "", -1, fmt.Errorf("output: %w", &os.PathError{Op: "open", Path: path, Err: syscall.ELOOP})
}

// isFile reports whether the path without links is that of a file.
func isFile(path string, file os.FileInfo) bool {
	info, err := os.Lstat(path)
	return err == nil && os.SameFile(info, file)
}

const stdoutFD = 1

// isDescriptors reports whether the links in a directory are the files that this process has open,
// as those in /dev/fd and /proc/self/fd.
func isDescriptors(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	self, err := os.Readlink("/proc/self") // not os.Getpid: /proc may be of another namespace
	if err != nil {
		return false
	}
	thread, err := filepath.Match("/proc/"+self+"/task/*/fd", real)
	return real == "/proc/"+self+"/fd" || thread && err == nil
}
