package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/distill"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestArchiveVerb makes archives in each form, and checks a directory before and after a change.
func TestArchiveVerb(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		must.OK(t, os.WriteFile(p(name), []byte(text), 0o666))
	}
	_, kernel := writeBTF(t, dir, "kernel.btf", nil, func(b *btf.Builder) { b.Int("int", 4, 0, 0) })
	_, disk := writeBTF(t, dir, "my-disk.btf", kernel,
		func(b *btf.Builder) { b.Ref(btf.KindTypedef, "disk_t", 1) })
	writeBTF(t, dir, "raid.btf", disk, func(b *btf.Builder) { b.Ref(btf.KindTypedef, "raid_t", 2) })
	writeBTF(t, dir, "my-disk.inline.btf", disk, func(b *btf.Builder) {
		b.Func("inlined", b.FuncProto(0), 0)
		b.Locsec("inline.text", btf.Site{Func: 4, LocProto: b.LocProto(), Offset: 8})
	})
	write("list", "kernel/drivers/my-disk.ko="+p("my-disk.btf")+"\n")
	must.OK(t, os.MkdirAll(p("full/file"), 0o777))
	const some = "archive --release 7.2 --vmlinux DIR/kernel.btf "
	const all = some + "--on raid=my-disk @DIR/list DIR/raid.btf "
	for _, c := range []struct {
		args           string
		code           int
		output         string // a file that must exist afterwards
		stdout, stderr string
	}{
		{some + "-o DIR/alone", 0, "alone/vmlinux", "", ""},
		{some + "-o DIR/among DIR/my-disk.btf DIR/kernel.btf", 0, "among/my_disk", "", ""},
		{some + "-o DIR/new k=DIR/kernel.btf", 1, "", "",
			"DIR/kernel.btf: read as BTF based on vmlinux: "},
		{some + "-o DIR/sites DIR/my-disk.inline.btf DIR/my-disk.btf", 0, "sites/my_disk.inline", "",
			""},
		{"verify --manifest DIR/sites", 0, "", "", ""},
		{"diff DIR/sites DIR/among", 0, "", "equal: 1 type compared (1 in A, 1 in B)", ""},
		{some + "-o DIR/new DIR/my-disk.inline.btf", 1, "", "",
			"it has the sites of inlined functions of the module my_disk, but there is no such module"},
		{all + "-o DIR/out", 0, "out/my_disk", "", ""},
		{all + "-o DIR/out.tar", 0, "out.tar", "", ""},
		{all + "-o DIR/out.tar.zst", 0, "out.tar.zst", "", ""},
		{all + "-o -", 0, "", "vmlinux\x00", ""},
		{all + "-o DIR/full", 1, "full/file", "", "output directory DIR/full is not empty"},
		{some + "-o DIR/new DIR/none", 1, "", "", "open DIR/none: no such file"},
		{some + "-o DIR/new DIR/raid.btf", 1, "", "", "DIR/raid.btf: read as BTF based on vmlinux: "},
		{some + "-o DIR/new --on raid", 2, "", "", `--on: "raid" doesn't have the form MODULE=BASE`},
		{some + "-o DIR/new --on a=b --on a=c", 2, "", "", "--on has both b and c for the module a"},
		{some + "-o DIR/new --distilled-base x=DIR/none", 1, "", "",
			"DIR/none is the distilled base of x"},
		{some + "-o DIR/kernel.btf", 2, "", "", "is also an input"},
		{some + "-o DIR/new.tgz", 2, "", "",
			"-o DIR/new.tgz: an archive is a directory, or a .tar or .tar.zst file"},
		{some + "-o DIR/new.tar.gz", 2, "", "", ".tar.gz is not supported"},
		{some + "-o DIR/new.tar.xz", 2, "", "", ".tar.xz is not supported"},
		{some + "-o DIR/new.ZIP", 2, "", "", ".zip is not supported"},
		{"archive -o DIR/new --release a/b --vmlinux DIR/kernel.btf", 2, "", "",
			"expected a kernel release"},
		{"verify --manifest DIR/alone/manifest.json", 0, "", "", ""},
		{"verify --manifest DIR/alone", 0, "", "", ""},
		{"verify --manifest DIR/out", 1, "",
			"raid: it is based on my_disk, but the kernel", ""},
		{"verify --manifest DIR/full", 1, "", "", "open DIR/full/manifest.json: no such file"},
		{"verify --manifest DIR/out/manifest.json DIR/alone/manifest.json", 1, "",
			"DIR/out/manifest.json: raid: it is based on my_disk, but the kernel", ""},
		{"verify --manifest DIR/out.tar", 1, "", "raid: it is based on my_disk, but the kernel", ""},
		{"verify --manifest DIR/out.tar.zst DIR/out.tar", 1, "",
			"DIR/out.tar.zst: raid: it is based on my_disk, but the kernel", ""},
		{"verify --manifest DIR/none.tar", 1, "", "", "open DIR/none.tar: no such file"},
		{"verify --manifest --modules DIR/alone DIR/out.tar", 1,
			"", "DIR/alone/vmlinux: raw BTF (little-endian), not an ELF file", ""},
		{"verify --manifest --modules DIR/none DIR/out.tar", 1, "", "", "DIR/none: no such file"},
		{"verify --manifest --vmlinux DIR/none DIR/out.tar", 1, "", "", "stat DIR/none: no such file"},
		{"verify --manifest --modules DIR DIR/out.tar DIR/out.tar", 2, "", "",
			"need one archive, but 2 are given"},
		{"verify --modules DIR DIR/kernel.btf", 2, "", "", "--vmlinux need --manifest"},
		{"verify --manifest DIR/none/manifest.json", 1, "", "", "open DIR/none/manifest.json: no"},
		{"verify --manifest DIR/list", 1, "", "", "DIR/list: not a manifest: "},
		{"verify --manifest --base x DIR/list", 2, "", "",
			"--manifest and --base can't be used together"},
	} {
		row{c.args, c.code, c.stdout, c.stderr}.run(t, dir, "")
		if c.output != "" {
			if _, err := os.Stat(p(c.output)); err != nil {
				t.Errorf("%s: %v", c.args, err)
			}
		}
		if _, err := os.Stat(p("new")); err == nil {
			t.Fatalf("%s: an output is left", c.args)
		}
	}
	manifest := must.Get(os.ReadFile(p("out/manifest.json")))(t)
	if want := `"path": "kernel/drivers/my-disk.ko"`; !strings.Contains(string(manifest), want) {
		t.Errorf("no %s in\n%s", want, manifest)
	}
}

// TestVerifyImages checks modules that the verb embed wrote. It must find the module whose ids come
// from another build.
func TestVerifyImages(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	for _, sub := range []string{"good", "bad", "distilled"} {
		must.OK(t, os.Mkdir(p(sub), 0o777))
	}
	object := compileIDs(t, dir, "ids.ko", idsSource)
	kernel, blob := writeBTF(t, dir, "vmlinux.btf", nil,
		func(b *btf.Builder) { b.Int("int", 4, 0, 0) })
	nf, _ := writeBTF(t, dir, "nf.btf", blob, twoFuncs("a", "k"))
	other, _ := writeBTF(t, dir, "other.btf", blob, twoFuncs("k", "a"))
	verify := func(images string, want ...string) {
		t.Helper()
		code, stdout, stderr := btfdedup("verify", "--manifest", p("a.tar"), "--modules", p(images))
		var all string
		for _, line := range want {
			all += "nf: " + p(images+"/nf.ko") + ": section .BTF_ids: symbol " + line + "\n"
		}
		if stdout != all || stderr != "" || (code != 0) != (all != "") {
			t.Errorf("%s: code %d\n%s%s\nwant %s", images, code, stdout, stderr, all)
		}
	}
	succeeds(t, "", "archive", "-o", p("a.tar"), "--release", "7.2", "--vmlinux", kernel, nf)
	succeeds(t, "", "embed", "-o", p("good/nf.ko"), "--btf", nf, "--resolve-ids", "--base", kernel,
		object)
	verify("good")

	succeeds(t, "", "resolve-ids", "-o", p("stale.ko"), "--btf", other, "--base", kernel, object)
	succeeds(t, "section .BTF_ids already has ids", "embed", "-o", p("bad/nf.ko"), "--btf", nf,
		p("stale.ko"))
	verify("bad") // the set has the ids of both kfuncs; nothing shows which flags belong to which

	one, _ := writeBTF(t, dir, "one.btf", blob, twoFuncs("b", "a"))
	succeeds(t, `the BTF has no FUNC "k"`, "resolve-ids", "-o", p("stale.ko"), "--btf", one,
		"--base", kernel, object)
	succeeds(t, "section .BTF_ids already has ids", "embed", "-o", p("bad/nf.ko"), "--btf", nf,
		p("stale.ko"))
	verify("bad", `"__BTF_ID__func__a__2" at offset 0x8: its id is 0; expected [3], which is FUNC "a"`)

	succeeds(t, "", "embed", "-o", p("bad/nf.ko"), "--btf", nf, object)
	verify("bad", `"__BTF_ID__set8__s" at offset 0x0: the section is not resolved: all ids and `+
		"counts are 0; use btfdedup resolve-ids")

	// The ids of a module with a distilled base belong to that base, not to the archive.
	kernel, blob = writeBTF(t, dir, "kernel.btf", nil, func(b *btf.Builder) {
		b.Int("char", 1, 0, 0)
		b.Int("int", 4, 0, 0)
	})
	whole, _ := writeBTF(t, dir, "whole.btf", blob, func(b *btf.Builder) {
		proto := b.FuncProto(2)
		b.Func("a", proto, btf.LinkageGlobal)
		b.Func("k", proto, btf.LinkageGlobal)
	})
	raw := must.Get(os.ReadFile(whole))(t)
	base, split := must.Get2(distill.Encode(raw, blob))(t)
	for name, data := range map[string][]byte{"base": base, "split": split} {
		must.OK(t, os.WriteFile(p(name), data, 0o666))
	}
	succeeds(t, "", "embed", "-o", p("distilled/nf.ko"), "--btf", p("split"), "--btf-base", p("base"),
		"--resolve-ids", object)
	wantIDs(t, p("distilled/nf.ko"), 2, 1, 3, 2, 4, 0x10001)
	succeeds(t, "", "archive", "-o", p("a.tar"), "--release", "7.2", "--vmlinux", kernel,
		p("distilled/nf.ko"))
	verify("distilled")
}
