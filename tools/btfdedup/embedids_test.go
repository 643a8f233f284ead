package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// sameFiles reports whether two files have the same bytes.
func sameFiles(t *testing.T, a, b string) bool {
	t.Helper()
	x := must.Get(os.ReadFile(a))(t)
	y := must.Get(os.ReadFile(b))(t)
	return bytes.Equal(x, y)
}

// twoFuncs adds two functions to BTF whose base has one or several types.
func twoFuncs(first, second string) func(b *btf.Builder) {
	return func(b *btf.Builder) {
		proto := b.FuncProto(0)
		b.Func(first, proto, btf.LinkageGlobal)
		b.Func(second, proto, btf.LinkageGlobal)
	}
}

// TestEmbedResolvesIDs: "embed --resolve-ids" gives the same file as resolve-ids and then embed.
func TestEmbedResolvesIDs(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	object := compileIDs(t, dir, "ids.ko", idsSource)
	oldBase, oldBlob := writeBTF(t, dir, "old_base.btf", nil, func(b *btf.Builder) {
		b.Int("int", 4, 0, 0)
	})
	base, blob := writeBTF(t, dir, "base.btf", nil, func(b *btf.Builder) {
		b.Int("int", 4, 0, 0)
		b.Int("char", 1, 0, 0)
	})
	oldTypes, _ := writeBTF(t, dir, "old.btf", oldBlob, twoFuncs("a", "k"))
	types, _ := writeBTF(t, dir, "new.btf", blob, twoFuncs("k", "a"))
	few, _ := writeBTF(t, dir, "few.btf", blob, twoFuncs("k", "b"))

	// This module comes from the compiler. Its ids become 3 and 4, because the base has one type.
	succeeds(t, "", "embed", "-o", p("first.ko"), "--btf", oldTypes, "--resolve-ids",
		"--base", oldBase, object)
	wantIDs(t, p("first.ko"), 2, 1, 3, 2, 4, 0x10001)
	succeeds(t, "", "resolve-ids", "-o", p("step.ko"), "--btf", oldTypes, "--base", oldBase, object)
	succeeds(t, "section .BTF_ids already has ids", "embed", "-o", p("steps.ko"), "--btf", oldTypes,
		p("step.ko"))
	if !sameFiles(t, p("first.ko"), p("steps.ko")) {
		t.Error("resolve-ids and then embed give a different file than embed --resolve-ids")
	}

	// The ids of this module are already resolved. The flags must stay with their functions.
	succeeds(t, "", "embed", "-o", p("again.ko"), "--btf", types, "--resolve-ids", "--base", base,
		"--old-base", oldBase, p("first.ko"))
	wantIDs(t, p("again.ko"), 2, 1, 4, 0x10001, 5, 2)
	// The rules extract the old base from vmlinux. The result is empty if there is none.
	content := must.Get(os.ReadFile(oldBase))(t)
	elfFile(t, p("vmlinux"), false, ".BTF", string(content))
	elfFile(t, p("bare"), false, ".text", "")
	for _, c := range []struct{ vmlinux, from, base, types string }{
		{p("vmlinux"), p("first.ko"), base, types},
		{p("bare"), object, base, types},
		{p("bare"), p("first.ko"), oldBase, oldTypes},
	} {
		succeeds(t, "", "import", "--for-old-base", "-o", p("old"), c.vmlinux)
		embed := []string{"embed", "-o", p("new.ko"), "--btf", c.types, "--resolve-ids", "--base", c.base,
			"--old-base", p("old"), c.from}
		succeeds(t, "", embed...)
		succeeds(t, "", "resolve-ids", "-o", p("only.ko"), "--btf", c.types, "--base", c.base,
			"--old-base", p("old"), c.from)
		if c.base == base {
			wantIDs(t, p("new.ko"), 2, 1, 4, 0x10001, 5, 2)
		}
	}
	succeeds(t, "--resolve-ids", "embed", "-o", p("stale.ko"), "--btf", types, p("first.ko"))
	wantIDs(t, p("stale.ko"), 2, 1, 3, 2, 4, 0x10001)
	succeeds(t, "", "embed", "-o", p("unresolved.ko"), "--btf", types, object)
	succeeds(t, `the BTF has no FUNC "a"`, "embed", "-o", p("few.ko"), "--btf", few, "--resolve-ids",
		"--base", base, object)

	// With a distilled base, ids refer to the distilled base, whatever --base the link had.
	succeeds(t, "", "embed", "-o", p("distilled.ko"), "--btf", oldTypes, "--btf-base", oldBase,
		"--resolve-ids", object)
	wantIDs(t, p("distilled.ko"), 2, 1, 3, 2, 4, 0x10001)
	// A file without the section doesn't need the base.
	succeeds(t, "", "embed", "-o", p("plain.ko"), "--btf", types, "--resolve-ids",
		compileIDs(t, dir, "plain.o", "int x;"))

	for _, c := range []row{
		{"--resolve-ids " + object, 1, "", "new.btf: "},
		{"--resolve-ids --base " + dir + "/none " + object, 1, "", "no such file"},
		{"--resolve-ids --base " + base + " " + p("first.ko"), 1, "",
			"section .BTF_ids has already been resolved"},
		{"--btf " + few + " --resolve-ids --fatal-warnings --base " + base + " " + object, 1, "",
			`the BTF has no FUNC "a"; its id is 0 (1 such warnings`},
		{"--fatal-warnings " + object, 2, "", "need --resolve-ids"},
		{"--base " + base + " " + object, 2, "", "--base needs --resolve-ids or --inline"},
		{"--old-base " + base + " " + object, 2, "", "need --resolve-ids"},
		{"--resolve-ids --btf-base " + base + " --base " + base + " " + object, 2, "",
			"can't be used together"},
		{"--resolve-ids --object " + object, 2, "", "--object is for vmlinux"},
	} {
		if !strings.Contains(c.Args, "--btf ") {
			c.Args += " --btf " + types
		}
		c.run(t, dir, "embed -o DIR/bad.ko")
		if _, err := os.Stat(p("bad.ko")); err == nil {
			t.Errorf("embed %s: there is an output", c.Args)
		}
	}
}
