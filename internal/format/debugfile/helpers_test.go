package debugfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// fileOf returns an ELF file with the given sections. The arguments are pairs: the name of a
// section, and then its content.
func fileOf(t testing.TB, sections ...string) []byte {
	t.Helper()
	return []byte(filetest.Named(t, sections...))
}

func parse(t testing.TB, data []byte) *elf.File {
	t.Helper()
	f := must.Get(elf.Parse("file", data))(t)
	return f
}

// sup returns the content of a section .debug_sup: with flag 0, for a file that needs the
// supplementary file with this name; with flag 1, for the supplementary file itself.
func sup(flag byte, name, checksum string) string {
	return "\x05\x00" + string(flag) + name + "\x00" + string(byte(len(checksum))) + checksum
}

// write writes a file, and makes the directories above it.
func write(t testing.TB, path string, data []byte) {
	t.Helper()
	must.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
	must.OK(t, os.WriteFile(path, data, 0o666))
}
