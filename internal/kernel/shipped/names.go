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
func (c *collector) wanted(name string) bool {
	base := path.Base(name)
	switch {
	case !isModule(base) && (!kernelName.MatchString(base) || notKernel.MatchString(base)):
		return false
	case strings.Contains("/"+name, "/lib/debug/"):
		c.debug++
		return false
	}
	c.files++
	return true
}

// nothing returns the error for an input without kernels and modules.
func (c *collector) nothing(input string) error {
	if c.debug > 0 {
		return fmt.Errorf("%s: it has %s with debugging information (below lib/debug), but none that "+
			"boots; pass the packages with the kernel and the modules",
			input, message.Count(c.debug, "file"))
	}
	return fmt.Errorf("%s: no kernel and no module in this file or directory; to check an archive of "+
		"BTF, add --manifest", input)
}
