package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// rawBTF writes a raw BTF file with a struct of the given name and size.
func rawBTF(t *testing.T, path, name string, size uint32) {
	t.Helper()
	b := btf.NewBuilder(nil, nil, nil)
	i := b.Int("int", 4, btf.IntSigned, 0)
	b.Composite(btf.KindStruct, name, size, false, btf.Member{NameOff: b.Name("i"), Type: i})
	data := must.Get(b.Encode(btf.EncodeOptions{}))(t)
	must.OK(t, os.WriteFile(path, data, 0o644))
}

func TestMerge(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	rawBTF(t, p("a.btf"), "s", 4)
	rawBTF(t, p("b.btf"), "s", 8)
	rawBTF(t, p("c.btf"), "other", 4)
	merge := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := cli.Execute(program, append([]string{"merge"}, args...), nil, &out, &errs); code != 0 {
			return strings.TrimSpace(errs.String())
		}
		return ""
	}
	for _, args := range [][]string{
		{"-o", p("all1"), p("a.btf"), p("b.btf"), p("c.btf"), p("a.btf")},
		{"-o", p("ab"), p("b.btf"), p("a.btf")},
		{"-o", p("ca"), p("c.btf"), p("a.btf")},
		{"-o", p("all2"), p("ca"), p("ab")},
	} {
		if err := merge(args...); err != "" {
			t.Fatalf("merge %v: %s", args, err)
		}
	}
	one := must.Get(os.ReadFile(p("all1")))(t)
	two := must.Get(os.ReadFile(p("all2")))(t)
	if !bytes.Equal(one, two) {
		t.Error("a tree of merges gives different bytes than one merge")
	}
	blob := must.Get(btf.ReadOne(p("all1"), nil))(t)
	if n := len(blob.Types); n != 4 { // int, other, both s
		t.Errorf("%d types, want 4", n)
	}

	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-o", p("a.btf"), p("a.btf")}, "is also an input"},
		{[]string{"-o", p("x"), p("a.btf"), p("missing")}, p("missing")},
	} {
		if err := merge(tt.args...); !strings.Contains(err, tt.want) {
			t.Errorf("merge %v: error %q, want one with %q", tt.args, err, tt.want)
		}
	}
	if _, err := os.Stat(p("x")); err == nil {
		t.Error("a failed merge left an output")
	}
}
