package archive

import (
	"fmt"
	"path"
	"strings"
)

// maxName is the longest name of a module that a kernel holds: MODULE_NAME_LEN less the final NUL,
// on machines of 32 bits. On those of 64 bits it is 55.
const maxName = 59

// Name returns the kernel's name for a module with a path: without directories and suffixes, and
// with _ for - and commas (name-fix-token in scripts/Makefile.lib). nf-nat.ko and nf_nat.btf are
// both nf_nat.
func Name(file string) string {
	name := path.Base(file)
	for _, suffix := range []string{".btf", ".debug", ".ko", ".mod"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return strings.NewReplacer("-", "_", ",", "_").Replace(name)
}

// checkName checks that a module and a file can have a name.
func checkName(name string) error {
	bad := func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '/' }
	if name == "" || name == ManifestName || strings.HasPrefix(name, ".") || len(name) > maxName ||
		strings.ContainsFunc(name, bad) {
		return fmt.Errorf("%q can't be the name of a module", name)
	}
	return nil
}
