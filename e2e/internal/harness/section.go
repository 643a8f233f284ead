package harness

import (
	"debug/elf"
	"testing"
)

// Section returns the content of a section in an ELF file, or nil if no section has that name.
func Section(tb testing.TB, path, name string) []byte {
	tb.Helper()
	f, err := elf.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	section := f.Section(name)
	if section == nil {
		return nil
	}
	data, err := section.Data()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}
