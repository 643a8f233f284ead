package shipped

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// notKernel lists extensions of files that are not kernels, although their names begin like those
// of kernels.
var notKernel = []string{".h", ".lds", ".S", ".o", ".a", ".map", ".sig", ".hmac", ".symvers",
	".cmd", ".d", ".debug", ".btf", ".py"}

// isKernel reports whether a file with the base name base, in a directory or package, is a kernel.
func isKernel(base string) bool {
	for _, name := range []string{"vmlinuz", "vmlinux", "Image", "bzImage"} {
		rest, ok := strings.CutPrefix(base, name)
		if ok && (rest == "" || rest[0] == '-' || rest[0] == '.') {
			return !slices.Contains(notKernel, path.Ext(base))
		}
	}
	return false
}

func isModule(name string) bool {
	switch end := path.Ext(name); end {
	case ".gz", ".xz", ".zst":
		name = strings.TrimSuffix(name, end)
	}
	return strings.HasSuffix(name, ".ko")
}

// wanted reports whether the file at a path in a directory or package is a kernel or module, and
// counts such files.
// Rule: packages: which files are kernels and modules.
func (in *input) wanted(name string) bool {
	base := path.Base(name)
	switch {
	case !isModule(base) && !isKernel(base):
		return false
	case hasDebug(name):
		in.debug++
		return false
	}
	in.files++
	return true
}

func hasDebug(name string) bool { return strings.Contains("/"+name, "/lib/debug/") }

// reads reports whether a regular file with a path in a package is read.
func reads(name string) bool {
	return (isModule(name) || isKernel(path.Base(name))) && !hasDebug(path.Clean(name))
}

// nothing returns the error for an input without kernels and modules.
func (in *input) nothing() error {
	if in.debug > 0 {
		return fmt.Errorf("%s: it has %s with debugging information (below lib/debug), but none that "+
			"boots; pass the packages with the kernel and the modules",
			in.name, message.Count(in.debug, "file"))
	}
	return fmt.Errorf("%s: no kernel and no module in this file or directory; to check an archive of "+
		"BTF, add --manifest", in.name)
}
