package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

var update = flag.Bool("update", false, "write the files of TestFormatJSON")

// TestFormatJSON compares what --format=json prints with files. With -update it writes these files.
func TestFormatJSON(t *testing.T) {
	dir := t.TempDir()
	writeBTF(t, dir, "bad.btf", nil, func(b *btf.Builder) {
		b.Int("int", 4, 0, 40)
		b.Ref(btf.KindTypedef, "1st", 1)
		b.Fwd("<&>", true)
	})
	_, base := writeBTF(t, dir, "base.btf", nil, func(b *btf.Builder) {
		b.Int("int", 4, btf.IntSigned, 32)
		b.Composite(btf.KindStruct, "s", 4, false, btf.Member{NameOff: b.Name("i"), Type: 1})
	})
	for _, name := range []string{"m1.btf", "m2.btf"} {
		writeBTF(t, dir, name, base, func(b *btf.Builder) {
			id := b.Composite(btf.KindStruct, "shared", 8, false,
				btf.Member{NameOff: b.Name("s"), Type: 2},
				btf.Member{NameOff: b.Name("j"), Type: 1, Offset: 32})
			b.Ref(btf.KindTypedef, strings.TrimSuffix(name, ".btf"), id)
		})
	}
	writeBTF(t, dir, "other.btf", nil, func(b *btf.Builder) {
		b.Int("int", 4, btf.IntSigned, 32)
		b.Composite(btf.KindStruct, "s", 8, false, btf.Member{NameOff: b.Name("i"), Type: 1, Offset: 32})
		b.Fwd("new", false)
	})
	p := func(name string) string { return filepath.Join(dir, name) }
	if code, _, stderr := btfdedup("archive", "-o", p("archive"), "--release=7.2", "--vmlinux",
		p("base.btf"), p("m1.btf"), p("m2.btf")); code != 0 {
		t.Fatal(stderr)
	}
	must.OK(t, os.Remove(p("archive/m2")))
	for _, c := range []struct {
		name, args string
		code       int
	}{
		{"verify", "verify DIR/bad.btf DIR/base.btf", 1},
		{"verify-valid", "verify DIR/base.btf", 0},
		{"verify-manifest", "verify --manifest DIR/archive/manifest.json", 1},
		{"diff", "diff DIR/base.btf DIR/other.btf", 1},
		{"conflicts", "conflicts DIR/base.btf DIR/other.btf", 0},
		{"stats", "stats --base DIR/base.btf DIR/m1.btf", 0},
	} {
		code, got, stderr := btfdedup(append(strings.Fields(strings.ReplaceAll(c.args, "DIR", dir)),
			"--format=json")...)
		if code != c.code || stderr != "" {
			t.Errorf("%s: exit code %d, want %d\n%s", c.args, code, c.code, stderr)
		}
		got = strings.ReplaceAll(got, dir, "DIR")
		if !json.Valid([]byte(got)) || got[0] != '{' {
			t.Errorf("%s: no JSON object:\n%s", c.args, got)
		}
		golden := filepath.Join("testdata", c.name+".json")
		if *update {
			must.OK(t, os.WriteFile(golden, []byte(got), 0o666))
		}
		want, err := os.ReadFile(golden)
		if err != nil || got != string(want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.args, err, got, want)
		}
	}
}

// TestFormatOfErrors: with --format=json an incomplete report is not printed.
func TestFormatOfErrors(t *testing.T) {
	dir := t.TempDir()
	bad, _ := writeBTF(t, dir, "bad.btf", nil, func(b *btf.Builder) { b.Int("int", 4, 0, 40) })
	code, text, _ := btfdedup("verify", bad, dir+"/none")
	if code != 1 || !strings.Contains(text, "int-bits") {
		t.Errorf("exit code %d, %s", code, text)
	}
	code, text, stderr := btfdedup("verify", "--format=json", bad, dir+"/none")
	if code != 1 || text != "" || !strings.Contains(stderr, "no such file") {
		t.Errorf("exit code %d, %s%s", code, text, stderr)
	}
}
