package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// TestDumpInline tests the flags for sites of inlined functions.
func TestDumpInline(t *testing.T) {
	dir := t.TempDir()
	path, _ := writeBTF(t, dir, "inline.btf", nil, func(b *btf.Builder) {
		b.Locsec("inline.text", btf.Site{Func: b.Func("f", b.FuncProto(0), 0), LocProto: b.LocProto(),
			Offset: 0x2c})
	})
	missing := filepath.Join(dir, "missing")
	for _, c := range []struct {
		args string
		code int
		want string // in the output
	}{
		{"--inline", 0, ".text+0x2c  f()\n"},
		{"--inline --name f", 0, ".text+0x2c  f()\n"},
		{"--inline --format=json", 0, `{"section":".text","offset":44,"function":"f","id":`},
		{"--inline --name f --name g", 1, `inline.btf: no site of a function with the name "g"`},
		{"--inline --format=c", 2, "--inline and --format=c can't be used together"},
		{"--inline --format=kabi", 2, "--inline and --format=kabi can't be used together"},
		{"--format=json", 2, "--format=json needs --inline"},
		{"--elf " + path, 2, "--elf needs --inline"},
		{"--inline --elf " + path, 1, "not an ELF file"},
		{"--inline --elf " + missing, 1, "no such file"},
	} {
		code, stdout, stderr := btfdedup(append([]string{"dump", path}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%s: exit code %d, %s%s; want %d, %q", c.args, code, stdout, stderr, c.code, c.want)
		}
	}
	types, _ := writeBTF(t, dir, "types.btf", nil, func(b *btf.Builder) {
		b.Func("f", b.FuncProto(0), 0)
	})
	if code, stdout, stderr := btfdedup("dump", "--inline", types); code != 1 || stdout != "" ||
		!strings.Contains(stderr, "types.btf: no sites of inlined functions; btfgen inline makes") {
		t.Errorf("BTF without sites: exit code %d, %s%s", code, stdout, stderr)
	}
}
