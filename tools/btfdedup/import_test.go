package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// elfFile writes an ELF file, relocatable or not, with sections: name, content, name, content ….
func elfFile(t *testing.T, path string, relocatable bool, sections ...string) string {
	t.Helper()
	data := []byte(filetest.Named(t, sections...))
	if !relocatable {
		binary.LittleEndian.PutUint16(data[16:], 2) // e_type: ET_EXEC
	}
	return write(t, path, data)
}

// write writes a file, and returns its path.
func write(t *testing.T, path string, data []byte) string {
	t.Helper()
	return file(t, path, string(data))
}

func file(t *testing.T, path, content string) string {
	t.Helper()
	must.OK(t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

// bzImage returns an x86 kernel image with the given payload, which is already gzip-compressed.
func bzImage(payload string) string {
	image := make([]byte, 1024) // the boot sector and one sector of setup code
	image[0x1f1] = 1
	copy(image[0x1fe:], "\x55\xaa\x00\x00HdrS\x0f\x02")
	binary.LittleEndian.PutUint32(image[0x24c:], uint32(len(payload)))
	return string(image) + payload
}

// TestImport extracts the BTF of all kinds of files, unchanged, and refuses files without BTF.
func TestImport(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	gzipped := func(content string) string { return filetest.Pack(t, ".gz", content) }
	read := func(path string) string {
		data := must.Get(os.ReadFile(path))(t)
		return string(data)
	}
	kernel, base := writeBTF(t, dir, "kernel.btf", nil, func(b *btf.Builder) { b.Int("int", 4, 0, 0) })
	other, _ := writeBTF(t, dir, "other.btf", nil, func(b *btf.Builder) {
		b.Func("f", 2, btf.LinkageGlobal)
		b.FuncProto(0)
	})
	named, _ := writeBTF(t, dir, "named.btf", base, func(b *btf.Builder) {
		b.Ref(btf.KindTypedef, "integer", 1)
	})
	bad, _ := writeBTF(t, dir, "bad.btf", nil, func(b *btf.Builder) {
		b.Ref(btf.KindPtr, "", 7)
		b.Composite(btf.KindStruct, "s", 4, false)
	})
	whole, part := read(kernel), read(named)
	vmlinux := elfFile(t, p("vmlinux"), false, ".BTF", whole)
	bare := elfFile(t, p("bare"), false, ".text", "")
	ko := elfFile(t, p("x.ko"), true, ".BTF", part)
	flat := strings.Repeat("\x00", 0x38) + "ARM\x64" + strings.Repeat("\x00", 99)
	out := p("out")
	for _, c := range []struct {
		name string
		args []string
		want string // the BTF; "" if the command fails
		err  string // part of the error message
	}{
		{"raw", []string{kernel}, whole, ""},
		{"ELF", []string{vmlinux}, whole, ""},
		{"compressed ELF", []string{file(t, p("vmlinux.gz"), gzipped(read(vmlinux)))}, whole, ""},
		{"bzImage", []string{file(t, p("vmlinuz"), bzImage(gzipped(read(vmlinux))))}, whole, ""},
		{"flat", []string{file(t, p("Image"), flat+whole+"more")}, whole, ""},
		{"compressed flat", []string{file(t, p("Image.gz"), gzipped(flat+whole))}, whole, ""},
		{"module", []string{"--base", kernel, ko}, part, ""},
		{"compressed module", []string{"--base", kernel, file(t, p("x.ko.gz"), gzipped(read(ko)))},
			part, ""},

		{"bzImage without BTF", []string{file(t, p("old"), bzImage(gzipped(read(bare))))}, "",
			"old (bzImage, gzip): no BTF: the kernel was built without CONFIG_DEBUG_INFO_BTF;"},
		{"flat without BTF", []string{file(t, p("flat"), flat)}, "",
			"flat: no BTF: the kernel was built without CONFIG_DEBUG_INFO_BTF;"},
		{"module without BTF", []string{elfFile(t, p("bare.ko"), true, ".gnu.linkonce.this_module", "")},
			"",
			"bare.ko: no BTF: the module was built without CONFIG_DEBUG_INFO_BTF_MODULES"},
		{"kernel with DWARF alone", []string{elfFile(t, p("dwarf"), false, "__ksymtab", "",
			".debug_info", "")}, "",
			"the kernel was built without CONFIG_DEBUG_INFO_BTF; make BTF from its DWARF with btfgen elf"},
		{"vmlinux with nothing", []string{elfFile(t, p("strip"), false, ".init.text", "")}, "",
			"the kernel was built without CONFIG_DEBUG_INFO_BTF; build it with that"},
		{"program with DWARF alone", []string{elfFile(t, p("prog"), false, ".debug_info", "")}, "",
			"prog: no BTF (.BTF), but DWARF: make BTF from it with btfgen elf\n"},
		{"object with DWARF alone", []string{elfFile(t, p("a.o"), true, ".debug_info", "")}, "",
			"a.o: no BTF (.BTF), but DWARF: it is an object file; convert it with btfgen object"},
		{"program with nothing", []string{bare}, "", "bare: no BTF (.BTF) and no DWARF (.debug_info)"},
		{"distilled", []string{elfFile(t, p("d.ko"), true, ".BTF", part, ".BTF.base", whole)}, "",
			"with btfdedup relocate"},
		{"module alone", []string{ko}, "", "x.ko: BTF at offset 0x24: the string section does " +
			"not begin with a NUL byte; this looks like split BTF: pass its base"},
		{"kernel on a base", []string{"--base", kernel, vmlinux}, "", "remove --base"},
		{"not its base", []string{"--base", other, ko}, "", "x.ko: [3] TYPEDEF teger refers to [1], " +
			"which is FUNC f in the base; was it made with a different base?"},
		{"refused", []string{bad}, "", "bad.btf: the kernel refuses this BTF (btfdedup verify " +
			"lists all reasons): [1] PTR (anon):"},
		{"two blobs", []string{file(t, p("two"), whole+whole)}, "", "two: it holds 2 BTF blobs"},
		{"cut off", []string{file(t, p("cut"), whole[:len(whole)-1])}, "", "cut: BTF at offset"},
		{"damaged", []string{file(t, p("half"), bzImage(gzipped(read(vmlinux))[:99]))}, "",
			"half (bzImage, gzip): damaged"},
		{"damaged ELF", []string{file(t, p("e.gz"), gzipped(read(vmlinux)[:99]))}, "",
			"e.gz (gzip): "},
		{"text", []string{file(t, p("text"), "text")}, "", `text: neither a supported kernel ` +
			`image, nor an ELF file, nor raw BTF (it starts with "text")`},
		{"empty", []string{file(t, p("empty"), "")}, "", "empty: "},
		{"none", []string{p("none")}, "", "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file(t, out, "before")
			code, stdout, stderr := btfdedup(append([]string{"import", "-o", out}, c.args...)...)
			if c.want != "" && (code != 0 || stderr != "" || read(out) != c.want) {
				t.Fatalf("exit code %d, %d bytes: %s", code, len(read(out)), stderr)
			}
			if c.want == "" && (code != 1 || read(out) != "before" || strings.Count(stderr, "\n") != 1 ||
				!strings.Contains(stderr, c.err)) {
				t.Errorf("exit code %d: %s; want %q", code, stderr, c.err)
			}
			if stdout != "" {
				t.Errorf("standard output: %s", stdout)
			}
		})
	}
}
