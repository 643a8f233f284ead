package main

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestModuleWithoutBase: a kernel can't use the BTF of a module without a base, or with that of
// another release, so there is a warning.
func TestModuleWithoutBase(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	const source = "int counter; __attribute__((section(\".gnu.linkonce.this_module\"))) " +
		"struct module { char name[8]; } this_module = { \"m\" };" +
		"__attribute__((section(\".modinfo\"))) char info[] = \"vermagic=7.2.0 SMP \";"
	must.OK(t, os.WriteFile(p("m.c"), []byte(source), 0o666))
	programtest.Run(t, dir, "gcc", "-g", "-c", "-o", "m.ko", "m.c")
	code, _, stderr := btfgen("elf", "-o", p("alone.btf"), p("m.ko"))
	if code != 0 || !strings.Contains(stderr, "m.ko: the BTF of a kernel module must be based on") {
		t.Errorf("without --base: exit code %d, %q", code, stderr)
	}
	code, _, stderr = btfgen("elf", "-o", p("split.btf"), "--base", p("alone.btf"), p("m.ko"))
	if code != 0 || stderr != "" {
		t.Errorf("with --base: exit code %d, %q", code, stderr)
	}
	data := must.Get(os.ReadFile(p("alone.btf")))(t)
	kernel := elfwrite.File{AddrSize: 8, Order: binary.LittleEndian, Machine: uint16(elf.EM_X86_64),
		Sections: []elfwrite.Section{{Name: ".BTF", Data: data},
			{Name: ".modinfo", Data: []byte("vermagic=7.2.1 SMP ")}}}
	writeFile(t, p("kernel"), string(filetest.Bytes(t, kernel)))
	code, _, stderr = btfgen("elf", "-o", p("split.btf"), "--base", p("kernel"), p("m.ko"))
	const want = "m.ko: it was built for the kernel 7.2.0, but the base is the BTF of 7.2.1\n"
	if code != 0 || !strings.Contains(stderr, want) {
		t.Errorf("a base of another release: exit code %d, %q", code, stderr)
	}
	code, _, stderr = btfgen("facts", "-o", p("facts"), "--base", p("kernel"), p("m.ko"))
	if code != 0 || !strings.Contains(stderr, want) {
		t.Errorf("facts with a base of another release: exit code %d, %q", code, stderr)
	}
	code, _, stderr = btfgen("facts", "-o", p("facts"), "--base", p("alone.btf"), p("m.ko"))
	if code != 0 || stderr != "" {
		t.Errorf("facts: exit code %d, %q", code, stderr)
	}
	kernel.Machine = uint16(elf.EM_AARCH64)
	writeFile(t, p("arm64"), string(filetest.Bytes(t, kernel)))
	code, _, stderr = btfgen("facts", "-o", p("none"), "--base", p("arm64"), p("m.ko"))
	const machine = "m.ko: it is for EM_X86_64, but the base is for EM_AARCH64; use the BTF of"
	if _, err := os.Stat(p("none")); code != 1 || !strings.Contains(stderr, machine) || err == nil {
		t.Errorf("facts with a base for another machine: exit code %d, %q", code, stderr)
	}
}
