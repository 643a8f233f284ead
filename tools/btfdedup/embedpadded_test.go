package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestEmbedPadded: a linked kernel gets smaller BTF, with the ids that belong to it. --btf-out has
// the bytes that are embedded, and BTF of inlined functions is moved onto them, and padded if the
// kernel has .BTF.inline already.
func TestEmbedPadded(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	object := compileIDs(t, dir, "ids.o", idsSource)
	old, _ := writeBTF(t, dir, "old.btf", nil, func(b *btf.Builder) {
		b.Int("an integer with a name that is longer than needed", 4, 0, 0)
		twoFuncs("a", "k")(b)
	})
	small, blob := writeBTF(t, dir, "new.btf", nil, func(b *btf.Builder) {
		b.Int("int", 4, 0, 0)
		twoFuncs("k", "a")(b)
	})
	succeeds(t, "", "embed", "--object", "-o", p("btf.o"), "--btf", old, object)
	programtest.Run(t, "", "ld", "-e", "0", "-o", p("vmlinux"), object, p("btf.o"))
	succeeds(t, "", "embed", "-o", p("first"), "--btf", old, "--resolve-ids", p("vmlinux"))
	wantIDs(t, p("first"), 2, 1, 3, 2, 4, 0x10001)
	for _, in := range []string{p("vmlinux"), p("first")} {
		succeeds(t, "", "embed", "-o", p("new"), "--btf", small, "--resolve-ids", "--btf-out",
			p("padded.btf"), in)
		wantIDs(t, p("new"), 2, 1, 3, 0x10001, 4, 2)
		wantSection(t, p("new"), btf.SectionTypes, p("padded.btf"))
	}

	_, was := writeBTF(t, dir, "was.btf", nil, func(b *btf.Builder) { twoFuncs("a", "k")(b) })
	site := func(name string) func(b *btf.Builder) {
		return func(b *btf.Builder) {
			inlined := b.Func(name, b.FuncProto(0), btf.LinkageStatic)
			b.Locsec("inline.text", btf.Site{Func: 3, LocProto: b.LocProto()},
				btf.Site{Func: inlined, LocProto: b.LocProto(), Offset: 4})
		}
	}
	sites, _ := writeBTF(t, dir, "sites.inline", blob, site("inlined"))
	old, _ = writeBTF(t, dir, "old.inline", was, site("longer_than_the_name_of_the_other_function"))
	link := func(out, sites string) {
		t.Helper()
		with := compileIDs(t, dir, "inline.o",
			`asm(".section .BTF.inline,\"a\"\n.incbin \"`+sites+`\"");`)
		programtest.Run(t, "", "ld", "-e", "0", "-o", out, object, p("btf.o"), with)
	}
	link(p("loaded"), old)
	for _, in := range []string{p("first"), p("loaded")} {
		for _, flag := range []string{"-q", "--resolve-ids"} {
			args := []string{"embed", "-o", p("out"), "--btf", small, "--btf-out", p("on"), flag, in}
			inline := append(args, "--inline", sites, "--inline-out", p("moved"))
			succeeds(t, "", inline...)
			wantSection(t, p("out"), btf.SectionTypes, p("on"))
			wantSection(t, p("out"), btf.SectionInline, p("moved"))
			succeeds(t, "", "verify", "--base", p("on"), p("moved"))
			_, want, _ := btfdedup("dump", "--inline", "--base", small, sites)
			_, got, _ := btfdedup("dump", "--inline", "--base", p("on"), p("moved"))
			if got != want || strings.Count(got, "\n") != 2 {
				t.Errorf("%s: the sites are\n%swant\n%s", in, got, want)
			}
			code, _, stderr := btfdedup(args...)
			stale := code == 1 && strings.Contains(stderr, in+": the section .BTF.inline is in a loaded")
			if stale != (in == p("loaded")) || !stale && code != 0 {
				t.Errorf("%s: without --inline: exit code %d, %s", in, code, stderr)
			}
		}
	}
	link(p("small"), sites)
	large, _ := writeBTF(t, dir, "large.inline", blob, site("a_function_with_a_much_longer_name"))
	code, _, stderr := btfdedup("embed", "-q", "-o", p("bad"), "--btf", small, "--inline", large,
		p("small"))
	if code != 1 || !strings.Contains(stderr, "link the kernel with the new .BTF.inline") {
		t.Errorf("sites that don't fit: exit code %d, %s", code, stderr)
	}
	// The kernel's own BTF changes nothing, so the sites are still right.
	succeeds(t, "", "import", "-o", p("own.btf"), p("loaded"))
	succeeds(t, "", "embed", "-q", "-o", p("same"), "--btf", p("own.btf"), p("loaded"))
	if !sameFiles(t, p("same"), p("loaded")) {
		t.Error("the kernel's own BTF changes the file")
	}
}
