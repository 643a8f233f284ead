package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

func TestConflictsVerb(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	rawBTF(t, p("a.btf"), "s", 4)
	rawBTF(t, p("b.btf"), "s", 4)
	rawBTF(t, p("c.btf"), "s", 8)
	_, base := writeBTF(t, dir, "base.btf", nil,
		func(b *btf.Builder) { b.Composite(btf.KindStruct, "s", 4, false) })
	writeBTF(t, dir, "split.btf", base, func(b *btf.Builder) {
		b.Composite(btf.KindStruct, "s", 8,
			false)
	})
	writeBTF(t, dir, "fine.btf", base, func(b *btf.Builder) { b.Ref(btf.KindPtr, "", 1) })
	if code, _, stderr := btfdedup("merge", "-o", p("ab.btfo"), p("a.btf"), p("b.btf")); code != 0 {
		t.Fatal(stderr)
	}
	const two = "struct s: 2 definitions\n" +
		"  A in 2 units: DIR/a.btf, DIR/b.btf\n" +
		"  B in 1 unit: DIR/c.btf\n" +
		"  A vs B: size 4 vs 8\n\n" +
		"1 conflict in 3 files (3 units)\n"
	const based = "struct s: 2 definitions\n" +
		"  A in DIR/base.btf (base)\n" +
		"  B in 1 unit: DIR/split.btf\n" +
		"  A vs B: size 4 vs 8\n\n" +
		"1 conflict in 2 files (2 units)\n"
	rows(t, dir, "conflicts", []row{
		{"DIR/a.btf DIR/b.btf DIR/c.btf", 0, exactly(two), ""},
		{"--check DIR/c.btf DIR/b.btf DIR/a.btf", 1, exactly(two), ""},
		{"--all DIR/ab.btfo DIR/c.btf", 0, exactly(strings.NewReplacer(
			"DIR/a.btf, DIR/b.btf", "DIR/ab.btfo", "3 files", "2 files").Replace(two)), ""},
		{"--check DIR/ab.btfo", 0, exactly("no conflicts in 1 file (2 units)\n"), ""},
		{"--base DIR/base.btf DIR/fine.btf DIR/split.btf", 0, exactly(based), ""},
		{"DIR/a.btf DIR/none", 1, "", "btfdedup: open DIR/none: no such file or directory\n"},
		{"--base DIR/none DIR/a.btf", 1, "", "btfdedup: open DIR/none: no such file or directory\n"},
	})
	var got struct {
		Schema    int
		Conflicts []struct {
			Kind, Name  string
			Definitions []struct{ Files []struct{ Path string } }
		}
	}
	code, stdout, _ := btfdedup("conflicts", "--format=json", "--check", p("ab.btfo"), p("c.btf"))
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err, stdout)
	}
	if code != 1 || got.Schema != 1 || len(got.Conflicts) != 1 ||
		got.Conflicts[0].Definitions[1].Files[0].Path != p("c.btf") {
		t.Errorf("code %d\n%s", code, stdout)
	}
}
