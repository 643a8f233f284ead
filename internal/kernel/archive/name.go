package archive

import (
	"fmt"
	"path"
	"strings"
)

// maxName is the longest name of a module that a kernel holds: MODULE_NAME_LEN less the final NUL,
// on machines of 32 bits. On those of 64 bits it is 55.
const maxName = 59

// Name returns the name that the kernel has for a module, of the path of its file: without
// directories and suffixes, and with _ for - and commas (name-fix-token in
// scripts/Makefile.lib). Nf-nat.ko and nf_nat.btf are both nf_nat.
func Name(file string) string {
	name := path.Base(file)
	for _, suffix := range []string{".btf", ".debug", ".ko", ".mod"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return strings.NewReplacer("-", "_", ",", "_").Replace(name)
}

// checkName wants a name that the kernel and a directory can have.
func checkName(name string) error {
	if name == "" || name == ManifestName || strings.HasPrefix(name, ".") || len(name) > maxName {
		return fmt.Errorf("%q can't be the name of a module", name)
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f || c == '/' {
			return fmt.Errorf("%q can't be the name of a module", name)
		}
	}
	return nil
}
