package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// TestEmbedPadded: a linked kernel gets smaller BTF, with the ids that belong to it. --btf-out has
// the bytes that are embedded, and BTF of inlined functions must be based on these bytes.
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
	if out, err := exec.Command("ld", "-e", "0", "-o", p("vmlinux"), object,
		p("btf.o")).CombinedOutput(); err != nil {
		t.Fatalf("ld: %v\n%s", err, out)
	}
	succeeds(t, "", "embed", "-o", p("first"), "--btf", old, "--resolve-ids", p("vmlinux"))
	wantIDs(t, p("first"), 2, 1, 3, 2, 4, 0x10001)
	for _, in := range []string{p("vmlinux"), p("first")} {
		succeeds(t, "", "embed", "-o", p("new"), "--btf", small, "--resolve-ids", "--btf-out",
			p("padded.btf"), in)
		wantIDs(t, p("new"), 2, 1, 3, 0x10001, 4, 2)
		f, err := elf.Open(p("new"))
		if err != nil {
			t.Fatal(err)
		}
		embedded := bytes.Clone(f.Section(btf.SectionTypes).Raw())
		f.Close()
		padded, err := os.ReadFile(p("padded.btf"))
		if err != nil || !bytes.Equal(embedded, padded) {
			t.Errorf("--btf-out has %d bytes, the file %d: %v", len(padded), len(embedded), err)
		}
	}
	on, err := btf.ReadOne(p("padded.btf"), nil)
	if err != nil {
		t.Fatal(err)
	}
	site := func(b *btf.Builder) {
		b.Locsec("inline.text", btf.Site{Func: 3, LocProto: b.LocProto()})
	}
	wrong, _ := writeBTF(t, dir, "wrong.inline", blob, site)
	right, _ := writeBTF(t, dir, "right.inline", on, site)
	code, _, stderr := btfdedup("embed", "-q", "-o", p("out"), "--btf", small, "--inline", wrong,
		p("first"))
	if code != 1 || !strings.Contains(stderr, "or because it is padded: embed once with --btf-out") {
		t.Errorf("BTF of inlined functions that is based on %s: %d, %s", small, code, stderr)
	}
	succeeds(t, "", "embed", "-o", p("out"), "--btf", p("padded.btf"), "--resolve-ids", "--inline",
		right, p("first"))
}
