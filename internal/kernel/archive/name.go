package archive

import (
	"fmt"
	"path"
	"strings"
)

// maxName is the maximum length of a module name on 32-bit machines: MODULE_NAME_LEN without the
// final NUL. On 64-bit machines, the maximum is 55.
const maxName = 59

// Name returns the name that the kernel gives the module in a file: the file's base name without
// suffixes, and with _ in place of - and commas (name-fix-token in scripts/Makefile.lib). For both
// nf-nat.ko and nf_nat.btf, the name is nf_nat.
// Rule: names of modules. Source: kernel scripts/Makefile.lib name-fix-token; btf_module_notify.
func Name(file string) string {
	name := path.Base(file)
	for _, suffix := range []string{".btf", ".debug", ".ko", ".mod"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return strings.NewReplacer("-", "_", ",", "_").Replace(name)
}

// checkName checks that a name can be the name of a module, or of the file with a module's sites of
// inlined functions, and of a file.
func checkName(name string) error {
	of := strings.TrimSuffix(name, inlineSuffix)
	bad := func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '/' }
	if name == "" || name == ManifestName || strings.HasPrefix(name, ".") || len(of) > maxName ||
		strings.ContainsFunc(name, bad) {
		return fmt.Errorf("%q can't be the name of a module", name)
	}
	return nil
}
