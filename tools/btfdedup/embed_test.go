package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// moduleFile writes a relocatable file whose only section is .modinfo. The text in more is appended
// to the file.
func moduleFile(t *testing.T, dir, name string, order binary.ByteOrder, more string) string {
	t.Helper()
	o := elfwrite.File{AddrSize: 8, Order: order, Machine: 22, Flags: 7,
		Sections: []elfwrite.Section{{Name: ".modinfo", Data: []byte("license=GPL\x00"), Alloc: true}}}
	return write(t, filepath.Join(dir, name), append(filetest.Bytes(t, o), more...))
}

// TestEmbedVerb embeds BTF, and refuses wrong inputs without leaving any output.
func TestEmbedVerb(t *testing.T) {
	dir := t.TempDir()
	types, _ := writeBTF(t, dir, "types.btf", nil, func(b *btf.Builder) { b.Int("int", 4, 0, 0) })
	base, on := writeBTF(t, dir, "base.btf", nil, func(b *btf.Builder) { b.Int("char", 1, 0, 0) })
	typedef := func(to uint32) func(b *btf.Builder) {
		return func(b *btf.Builder) { b.Ref(btf.KindTypedef, "t", to) }
	}
	split, _ := writeBTF(t, dir, "split.btf", on, typedef(1))
	kernel, _ := writeBTF(t, dir, "kernel.btf", nil, func(b *btf.Builder) {
		b.Ref(btf.KindPtr, "", 0)
		b.Int("int", 4, 0, 0)
	})
	beyond, _ := writeBTF(t, dir, "beyond.btf", on, typedef(9))
	within, _ := writeBTF(t, dir, "within.btf", on, func(b *btf.Builder) {
		b.Add(btf.Type{Kind: btf.KindTypedef, NameOff: 2, SizeOrType: 1})
	})
	ko := moduleFile(t, dir, "x.ko", binary.LittleEndian, "")
	signature := "DER\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03~Module signature appended~\n"
	signed := moduleFile(t, dir, "signed.ko", binary.LittleEndian, signature)
	big := moduleFile(t, dir, "big.ko", binary.BigEndian, "")
	packed := filepath.Join(dir, "x.ko.xz")
	must.OK(t, os.WriteFile(packed, []byte("\xfd7zXZ\x00…"), 0o644))
	out := filepath.Join(dir, "out")
	for _, c := range []row{
		{"--btf " + types + " " + ko, 0, "", ""},
		{"--btf " + split + " --btf-base " + base + " " + ko, 0, "", ""},
		{"--btf " + types + " --btf-base " + base + " " + ko, 1, "",
			"this looks like BTF without a base"},
		{"--btf " + split + " --btf-base " + kernel + " " + ko, 1, "",
			kernel + ": the distilled base has [1] PTR, but only INT, FLOAT, ENUM, STRUCT, " +
				"UNION and FWD are allowed; make it with"},
		{"--btf " + beyond + " --btf-base " + base + " " + ko, 1, "",
			beyond + ": [2] TYPEDEF t refers to [9], but the last type is [2]; was it made " +
				"with a different base?"},
		{"--btf " + within + " --btf-base " + base + " " + ko, 1, "",
			within + ": [2] TYPEDEF: a name is at string offset 2, where no string begins; was it"},
		{"--btf " + types + " --drop-signature " + signed, 0, "", ""},
		{"--btf " + types + " --object " + ko, 0, "", ""},
		{"--btf " + types + " " + signed, 1, "", "remove the signature with --drop-signature"},
		{"--btf " + types + " " + big, 1, "",
			"types.btf: the BTF is little-endian, but " + big + " is big-endian"},
		{"--btf " + types + " --object " + big, 1, "", "is big-endian"},
		{"--btf " + types + " " + packed, 1, "",
			packed + " (xz): damaged, or compressed in an unusual way"},
		{"--btf " + ko + " " + ko, 1, "", ko + ": it is an ELF file, not raw BTF"},
		{"--btf " + packed + " " + ko, 1, "", "no BTF magic"},
		{"--btf " + types + " " + types, 1, "", types + ": raw BTF (little-endian), not an ELF file"},
		{"--btf " + dir + "/none " + ko, 1, "", "no such file"},
		{ko, 2, "", "--btf FILE is missing"},
		{"--btf " + types + " --object --drop-signature " + ko, 2, "", "--object is for vmlinux"},
		{"--btf " + types + " --btf-base " + out + " " + ko, 2, "", "also an input"},
	} {
		os.Remove(out)
		c.run(t, dir, "embed -o DIR/out")
		data, err := os.ReadFile(out)
		if (err == nil) != (c.Code == 0) {
			t.Errorf("embed %s: output %v", c.Args, err)
		}
		if c.Code != 0 {
			continue
		}
		f, err := elf.Parse(out, data)
		must.OK(t, err)
		want, err := os.ReadFile(strings.Fields(c.Args)[1])
		must.OK(t, err)
		object := strings.Contains(c.Args, "--object")
		if s := f.Section(btf.SectionTypes); s == nil || !bytes.Equal(s.Raw(), want) ||
			s.Alloc() != object || f.Machine != 22 || bytes.HasSuffix(data, []byte(signature)) {
			t.Errorf("embed %s: machine %v, .BTF %+v", c.Args, f.Machine, s)
		}
		if hasBase := f.Section(btf.SectionBase) != nil; hasBase != strings.Contains(c.Args, "base") {
			t.Errorf("embed %s: .BTF.base %v", c.Args, hasBase)
		}
	}
}

// TestEmbedInline: --inline fills .BTF.inline. Without it, an old .BTF.inline is removed, because
// it is based on the old BTF.
func TestEmbedInline(t *testing.T) {
	dir := t.TempDir()
	types, on := writeBTF(t, dir, "types.btf", nil, func(b *btf.Builder) { b.Int("int", 4, 0, 0) })
	inline, _ := writeBTF(t, dir, "inline.btf", on, func(b *btf.Builder) {
		b.Locsec("inline.text", btf.Site{Func: b.Func("f", b.FuncProto(0), 0), LocProto: b.LocProto()})
	})
	ko := moduleFile(t, dir, "x.ko", binary.LittleEndian, "")
	moduleFile(t, dir, "big.ko", binary.BigEndian, "")
	p := func(name string) string { return filepath.Join(dir, name) }
	section := func(path string) []byte {
		t.Helper()
		f := must.Get(elf.Open(path))(t)
		defer f.Close()
		data := must.Get(btf.Section(f, btf.SectionInline))(t)
		return bytes.Clone(data)
	}
	want := must.Get(os.ReadFile(inline))(t)
	for _, c := range []struct {
		in, out string
		args    []string
		want    []byte
	}{
		{ko, "with", []string{"--inline", inline}, want},
		{p("with"), "again", []string{"--inline", inline}, want},
		{p("with"), "without", nil, nil},
	} {
		args := append([]string{"embed", "-q", "--btf", types, "-o", p(c.out), c.in}, c.args...)
		code, stderr := runVerb(args...)
		if code != 0 || !bytes.Equal(section(p(c.out)), c.want) {
			t.Errorf("%s: exit code %d, %s, %d bytes", c.out, code, stderr, len(section(p(c.out))))
		}
	}
	rows(t, dir, "embed --btf DIR/types.btf -o DIR/out", []row{
		{"--inline DIR/types.btf DIR/x.ko", 1, "", "must be split BTF, based on DIR/types.btf"},
		{"--inline DIR/inline.btf DIR/big.ko", 1, "", "is big-endian"},
		{"--inline DIR/inline.btf --object DIR/x.ko", 2, "", "can't be used together"},
	})
}
