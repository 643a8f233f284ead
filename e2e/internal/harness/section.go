package harness

import (
	"debug/elf"
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// Section returns the content of a section in an ELF file, or nil if no section has that name.
func Section(tb testing.TB, path, name string) []byte {
	tb.Helper()
	f := must.Get(elf.Open(path))(tb)
	defer f.Close()
	section := f.Section(name)
	if section == nil {
		return nil
	}
	data := must.Get(section.Data())(tb)
	return data
}
