package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestDetached: verbs that read BTF from a separate debug file say that its .BTF has no content.
// Distributions ship such files, whose sections that the kernel loads have only headers.
func TestDetached(t *testing.T) {
	programtest.Need(t, "objcopy")
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	types := func(b *btf.Builder) { b.Composite(btf.KindStruct, "s", 8, false) }
	_, base := writeBTF(t, dir, "base.btf", nil, types)
	writeBTF(t, dir, "split.btf", base, types)
	detach := func(name string, sections ...string) {
		whole := p("whole." + name)
		writeELF(t, whole, sections...)
		args := []string{"--only-keep-debug"}
		for i := 0; i < len(sections); i += 2 {
			args = append(args, "--set-section-flags", sections[i]+"=alloc,readonly")
		}
		programtest.Run(t, dir, "objcopy", append(args[1:], whole)...)
		programtest.Run(t, dir, "objcopy", "--only-keep-debug", whole, p(name))
	}
	detach("vmlinux.debug", ".BTF", p("base.btf"), ".init.text", p("base.btf"))
	detach("m.ko.debug", ".BTF", p("split.btf"), ".BTF.base", p("base.btf"))
	detach("n.ko", ".gnu.linkonce.this_module", p("base.btf"), ".BTF", p("split.btf"))
	const want = " has no content in this file (SHT_NOBITS), which is a separate debug file; use the " +
		"stripped file that belongs to it\n"
	for _, c := range []struct {
		args          string
		section, file string
	}{
		{"dump DIR/vmlinux.debug", ".BTF", "vmlinux.debug"},
		{"dump --format=c DIR/vmlinux.debug", ".BTF", "vmlinux.debug"},
		{"dump --base DIR/vmlinux.debug DIR/split.btf", ".BTF", "vmlinux.debug"},
		{"dump --base DIR/m.ko.debug DIR/split.btf", ".BTF", "m.ko.debug"},
		{"stats DIR/vmlinux.debug", ".BTF", "vmlinux.debug"},
		{"diff DIR/base.btf DIR/vmlinux.debug", ".BTF", "vmlinux.debug"},
		{"verify --for=all DIR/vmlinux.debug", ".BTF", "vmlinux.debug"},
		{"verify DIR/vmlinux.debug", ".BTF", "vmlinux.debug"},
		{"verify DIR/base.btf DIR/n.ko", ".gnu.linkonce.this_module", "n.ko"},
		{"index -o DIR/out DIR/vmlinux.debug", ".BTF", "vmlinux.debug"},
		{"archive -o DIR/out --release=7.2.1 --vmlinux DIR/vmlinux.debug", ".BTF", "vmlinux.debug"},
		{"relocate -o DIR/out --base DIR/base.btf DIR/m.ko.debug", ".BTF.base", "m.ko.debug"},
	} {
		code, stdout, stderr := btfdedup(strings.Fields(strings.ReplaceAll(c.args, "DIR", dir))...)
		if says := c.file + ": section " + c.section + want; code != 1 ||
			!strings.Contains(stdout+stderr, says) {
			t.Errorf("%s: exit code %d, %s%s\nwant 1, %s", c.args, code, stdout, stderr, says)
		}
	}
}
