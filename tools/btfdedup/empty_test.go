package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestEmptyFiles passes an empty file to each verb, as an argument and in each flag that names an
// input. The messages differ only in the part that names the expected content.
func TestEmptyFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	must.OK(t, os.WriteFile("empty", nil, 0o666))
	writeBTF(t, dir, "a.btf", nil, func(b *btf.Builder) { b.Int("int", 4, btf.IntSigned, 0) })
	elfFile(t, filepath.Join(dir, "a.elf"), false, ".text", "x")
	const aBTF, anELF = "BTF, or a file that contains BTF", "an ELF file"
	for _, c := range []struct{ args, due string }{
		{"merge -o out empty", aBTF},
		{"merge -o out a.btf empty", aBTF},
		{"merge -o out --base empty a.btf", aBTF},
		{"link -o out empty", aBTF},
		{"link -o out --base empty a.btf", aBTF},
		{"link -o out --facts empty a.btf", "a file from btfgen facts"},
		{"index -o out empty", aBTF},
		{"import -o out empty", aBTF},
		{"embed -o out --btf empty a.elf", aBTF},
		{"embed -o out --btf a.btf empty", anELF},
		{"embed -o out --btf a.btf --btf-base empty a.elf", aBTF},
		{"resolve-ids -o out --btf a.btf empty", anELF},
		{"relocate -o out --base a.btf empty", aBTF},
		{"relocate -o out --base a.btf --distilled-base empty a.btf", aBTF},
		{"verify empty", aBTF},
		{"verify --base empty a.btf", aBTF},
		{"diff empty a.btf", aBTF},
		{"diff a.btf empty", aBTF},
		{"conflicts empty", aBTF},
		{"archive -o out --release 1 --vmlinux empty", aBTF},
		{"stats --base a.btf empty", aBTF},
		{"dump empty", aBTF},
		{"stats empty", aBTF},
	} {
		code, stdout, stderr := btfdedup(strings.Fields(c.args)...)
		want := ": empty file, expected " + c.due + ": the step that wrote it failed, or its " +
			"disk was full; make it again\n"
		if code != 1 || stdout != "" || !strings.HasPrefix(stderr, "btfdedup: empty") ||
			!strings.HasSuffix(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d\n%s%swant %s", c.args, code, stdout, stderr, want)
		}
		if _, err := os.Stat("out"); err == nil {
			t.Errorf("%s: an output is left", c.args)
			os.RemoveAll("out")
		}
	}
}

// TestNothingToLink links objects without units.
func TestNothingToLink(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	_, base := writeBTF(t, dir, "a.btf", nil, func(b *btf.Builder) {
		b.Int("int", 4, btf.IntSigned, 0)
	})
	writeBTF(t, dir, "none.btf", nil, func(*btf.Builder) {})
	writeBTF(t, dir, "split.btf", base, func(*btf.Builder) {})
	code, _, stderr := btfdedup("link", "-o", "out", "none.btf")
	if code != 1 || !strings.Contains(stderr, "none.btf: there is no type to encode") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if _, err := os.Stat("out"); err == nil {
		t.Error("an output is left")
	}
	if code, _, stderr := btfdedup("link", "-o", "out", "--base", "a.btf", "split.btf"); code != 0 {
		t.Errorf("split BTF: exit code %d, %s", code, stderr)
	}
}

// TestDirectoryAsFacts passes a directory as the facts. The error must name the reason.
func TestDirectoryAsFacts(t *testing.T) {
	dir := t.TempDir()
	path, _ := writeBTF(t, dir, "a.btf", nil, func(b *btf.Builder) { b.Int("int", 4, 0, 0) })
	code, _, stderr := btfdedup("link", "-o", filepath.Join(dir, "out"), "--facts", dir, path)
	if want := "btfdedup: " + dir + ": cannot be read: is a directory\n"; code != 1 || stderr != want {
		t.Errorf("exit code %d, %swant %s", code, stderr, want)
	}
}
