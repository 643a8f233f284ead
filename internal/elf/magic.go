package elf

import (
	"bytes"
	"fmt"
)

const bitcodeText = "LLVM bitcode (made with -flto), not an ELF file; " +
	"pass the object that the linker makes of it, or compile without -flto"

// foreign lists the formats that people pass by mistake, by their first bytes.
var foreign = []struct {
	magic string
	text  string
}{
	{"BC\xc0\xde", bitcodeText},
	{"\xde\xc0\x17\x0b", "wrapped " + bitcodeText},
	{archiveMagic, "an ar archive, not an ELF file; its members have to be opened one by one"},
	{thinMagic, "a thin ar archive, not an ELF file; its members have to be opened one by one"},
	{"\x1f\x8b", "gzip-compressed; decompress it first (gzip -d)"},
	{"\xfd7zXZ\x00", "xz-compressed; decompress it first (xz -d)"},
	{"\x28\xb5\x2f\xfd", "zstd-compressed; decompress it first (zstd -d)"},
	{"\x9f\xeb", "raw BTF (little-endian), not an ELF file"},
	{"\xeb\x9f", "raw BTF (big-endian), not an ELF file"},
	{"BTFBASE\x00", "an index of BTF, which only links take as --base; give the BTF itself"},
}

const elfMagic = "\x7fELF"

// checkMagic returns an error unless data starts like an ELF file. The error says which format it
// is, if that is known.
func checkMagic(name string, data []byte) error {
	switch {
	case bytes.HasPrefix(data, []byte(elfMagic)):
		return nil
	case len(data) == 0:
		return fmt.Errorf("%s: empty (0 bytes); an interrupted build leaves such files, build it again",
			name)
	}
	for _, k := range foreign {
		if bytes.HasPrefix(data, []byte(k.magic)) {
			return fmt.Errorf("%s: %s", name, k.text)
		}
	}
	return fmt.Errorf("%s: not an ELF file (starts with %q); "+
		"pass an object file, a kernel module or a linked vmlinux", name, data[:min(4, len(data))])
}
