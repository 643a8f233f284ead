package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// writeELF writes an ELF file. The arguments in sections alternate: the name of a section, then the
// file with the content of that section.
func writeELF(t *testing.T, path string, sections ...string) {
	t.Helper()
	var all []elfwrite.Section
	for i := 0; i < len(sections); i += 2 {
		data := must.Get(os.ReadFile(sections[i+1]))(t)
		all = append(all, elfwrite.Section{Name: sections[i], Data: data})
	}
	write(t, path, filetest.ELF(t, all...))
}

// readOnBase reads split BTF and its base.
func readOnBase(t *testing.T, base, split string) *btf.Blob {
	t.Helper()
	on := must.Get(btf.ReadOne(base, nil))(t)
	b := must.Get(btf.ReadOne(split, on))(t)
	return b
}

// longHeader copies split BTF, but with the 32-byte header that Linux 7.2's resolve_btfids writes.
func longHeader(t *testing.T, base, from, to string) {
	t.Helper()
	data, err := btf.Encode(readOnBase(t, base, from),
		btf.EncodeOptions{HeaderLen: btf.HeaderLenLayout})
	if err == nil {
		err = os.WriteFile(to, data, 0o666)
	}
	must.OK(t, err)
}

// makeDistilled makes, in dir, a module m.ko whose BTF (m.btf) is based on a distilled base
// (base.btf). It also makes the BTF of the kernel from which the base was distilled (old.btf), the
// module's BTF based on old.btf (split.btf), and the BTF of two other kernels: in new.btf, types
// have different ids, and in grown.btf, a type has a different size.
func makeDistilled(t *testing.T, dir string) {
	p := func(name string) string { return filepath.Join(dir, name) }
	kernel := func(name, first string, size uint32) *btf.Blob {
		_, b := writeBTF(t, dir, name, nil, func(b *btf.Builder) {
			b.Int(first, 8, 0, 0)
			b.Int("int", 4, 0, 0)
			b.Composite(btf.KindStruct, "dev", size, false)
		})
		return b
	}
	old := kernel("old.btf", "_before", 16)
	writeBTF(t, dir, "split.btf", old, func(b *btf.Builder) {
		b.Composite(btf.KindStruct, "own", 64, false, btf.Member{NameOff: b.Name("d"), Type: 3})
	})
	kernel("new.btf", "_before_all_others", 16)
	kernel("grown.btf", "_before", 24)
	if code, _, stderr := btfdedup("link", "--base", p("old.btf"), "--distilled-base", p("base.btf"),
		"-o", p("m.btf"), p("split.btf")); code != 0 {
		t.Fatal(stderr)
	}
	writeELF(t, p("m.ko"), ".BTF", p("m.btf"), ".BTF.base", p("base.btf"))
}

// TestRelocateVerb distills a module's base and relocates the module to two kernels.
func TestRelocateVerb(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	makeDistilled(t, dir)
	longHeader(t, p("old.btf"), p("split.btf"), p("split32.btf"))
	longHeader(t, p("base.btf"), p("m.btf"), p("m32.btf"))
	writeELF(t, p("m32.ko"), ".BTF", p("m32.btf"), ".BTF.base", p("base.btf"))
	writeELF(t, p("plain.ko"), ".BTF", p("split.btf"))
	writeELF(t, p("none.ko"), ".text", p("split.btf"))
	sites := func(name string, b *btf.Blob) {
		writeBTF(t, dir, name, b, func(b *btf.Builder) {
			param := btf.Param{NameOff: b.Name("d"), Type: b.Blob.StartID - 1} // struct own
			b.Locsec("inline.text", btf.Site{Func: b.Func("f", b.FuncProto(0, param), 0),
				LocProto: b.LocProto(b.LocParam(8, btf.LocReg, 5)), Offset: 8})
		})
	}
	sites("split.inline.btf", readOnBase(t, p("old.btf"), p("split.btf")))
	sites("m.inline.btf", readOnBase(t, p("base.btf"), p("m.btf")))
	writeELF(t, p("inline.ko"), ".BTF", p("m.btf"), ".BTF.base", p("base.btf"), ".BTF.inline",
		p("m.inline.btf"))
	for _, c := range []row{
		{"--distilled-base DIR/base.btf --base DIR/old.btf DIR/m.btf", 0, "", ""},
		{"--base DIR/old.btf DIR/m.ko", 0, "", ""},
		{"--base DIR/old.btf DIR/m32.ko", 0, "", ""},
		{"--base DIR/new.btf DIR/m.ko", 0, "", ""},
		{"--inline --base DIR/old.btf DIR/inline.ko", 0, "", ""},
		{"--distilled-base DIR/base.btf --distilled-base DIR/m.btf --base DIR/old.btf DIR/m.inline.btf",
			0, "", ""},
		{"--inline --base DIR/old.btf DIR/m.ko", 1, "",
			"DIR/m.ko: the ELF file has no section .BTF.inline"},
		{"--inline --distilled-base DIR/base.btf --base DIR/old.btf DIR/m.btf", 2, "",
			"--inline and --distilled-base can't be used together"},
		{"--base DIR/grown.btf DIR/m.ko", 1, "", "DIR/m.ko on DIR/grown.btf: type [1] STRUCT dev" +
			" (16 bytes) of the distilled base is not in the base, which has [3] STRUCT dev (24 bytes);" +
			" [2] STRUCT own embeds it"},
		{"DIR/m.ko", 2, "", "btfdedup: --base FILE is missing"},
		{"--base DIR/old.btf DIR/m.btf", 1, "", "DIR/m.btf: it is not an ELF file"},
		{"--base DIR/old.btf DIR/none.ko", 1, "",
			"DIR/none.ko: the ELF file has no section .BTF.base;"},
		{"--base DIR/old.btf DIR/plain.ko", 1, "",
			"DIR/plain.ko: the ELF file has no section .BTF.base;"},
		{"--distilled-base DIR/split.btf --base DIR/old.btf DIR/m.btf", 1, "", "DIR/split.btf: "},
		{"--distilled-base DIR/out --base DIR/old.btf DIR/m.btf", 2, "", "is also an input"},
	} {
		c.run(t, dir, "relocate -o DIR/out")
		_, err := os.Stat(p("out"))
		if (err == nil) != (c.Code == 0) {
			t.Errorf("relocate %s: code %d, output: %v", c.Args, c.Code, err)
		}
		if strings.Contains(c.Args, "old.btf") && c.Code == 0 {
			original := "split.btf"
			if strings.Contains(c.Args, "m32") {
				original = "split32.btf"
			} else if strings.Contains(c.Args, "inline") {
				original = "split.inline.btf"
			}
			want, _ := os.ReadFile(p(original))
			if got, _ := os.ReadFile(p("out")); !bytes.Equal(got, want) {
				t.Errorf("relocate %s: on the old base again, the BTF differs", c.Args)
			}
		}
		os.Remove(p("out"))
	}
}

// TestDistilledBaseOnBase passes a module with a distilled base to the verbs that read BTF, and the
// kernel's BTF as --base. The verbs must relocate the module's BTF to the kernel, as bpftool does.
func TestDistilledBaseOnBase(t *testing.T) {
	dir := t.TempDir()
	makeDistilled(t, dir)
	run := func(args string) (int, string, string) {
		code, stdout, stderr := btfdedup(strings.Fields(strings.ReplaceAll(args, "DIR", dir))...)
		return code, stdout, strings.ReplaceAll(stderr, dir, "DIR")
	}
	for _, tt := range []struct{ one, other string }{
		{"dump --base DIR/old.btf DIR/m.ko", "dump --base DIR/old.btf DIR/split.btf"},
		{"dump --base DIR/base.btf DIR/m.ko", "dump DIR/m.ko"},
		{"stats --base DIR/old.btf DIR/m.ko", "stats --base DIR/old.btf DIR/split.btf"},
		{"verify --base DIR/new.btf DIR/m.ko", "verify DIR/m.ko"},
		{"diff --base DIR/old.btf DIR/m.ko DIR/split.btf", "diff DIR/old.btf DIR/old.btf"},
		{"diff --base-a DIR/new.btf --base-b DIR/old.btf DIR/m.ko DIR/split.btf",
			"diff --base DIR/old.btf DIR/split.btf DIR/split.btf"},
	} {
		oneCode, one, stderr := run(tt.one)
		otherCode, other, _ := run(tt.other)
		if strings.HasPrefix(tt.one, "diff") { // the numbers of types differ
			one, _, _ = strings.Cut(one, ":")
			other, _, _ = strings.Cut(other, ":")
		}
		named := strings.NewReplacer("m.ko", "split.btf")
		same := named.Replace(one) == named.Replace(other)
		if oneCode != 0 || otherCode != 0 || !same {
			t.Errorf("%s: code %d\n%s%s\n%s: code %d\n%s", tt.one, oneCode, one, stderr, tt.other,
				otherCode, other)
		}
	}
	const want = "DIR/m.ko: its section .BTF.base doesn't match the base: type [1] STRUCT dev " +
		"(16 bytes)"
	if code, _, stderr := run("dump --base DIR/grown.btf DIR/m.ko"); code != 1 ||
		!strings.Contains(stderr, want) {
		t.Errorf("on a base that it doesn't fit: code %d\n%s", code, stderr)
	}
}
