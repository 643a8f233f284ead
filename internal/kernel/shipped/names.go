package shipped

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// kernelName and notKernel are for the base names of files in directories and packages.
var (
	kernelName = regexp.MustCompile(`^(vmlinuz|vmlinux|Image|bzImage)([-.].*)?$`)
	notKernel  = regexp.MustCompile(`\.(h|lds|S|o|a|map|sig|hmac|symvers|cmd|d|debug|btf|py)$`)
	packed     = regexp.MustCompile(`\.(gz|xz|zst)$`)
)

func isModule(name string) bool {
	return strings.HasSuffix(packed.ReplaceAllString(name, ""), ".ko")
}

// wanted reports whether the file at a path in a directory or package is a kernel or module, and
// counts such files.
func (in *input) wanted(name string) bool {
	base := path.Base(name)
	switch {
	case !isModule(base) && (!kernelName.MatchString(base) || notKernel.MatchString(base)):
		return false
	case strings.Contains("/"+name, "/lib/debug/"):
		in.debug++
		return false
	}
	in.files++
	return true
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
