package convert

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestKABIPrefix converts two units with a struct whose hidden member has a different name in each,
// as with some distributions' kABI macros. With --kabi-prefix, both units have the same struct.
func TestKABIPrefix(t *testing.T) {
	dir := t.TempDir()
	const text = "struct s { union { long now; struct { int was; } HIDDEN; }; int __hid; };\n" +
		"int FUNCTION(struct s *p) { return p->now; }"
	source := filepath.Join(dir, "s.c")
	must.OK(t, os.WriteFile(source, []byte(text), 0o666))
	var objs []string
	for _, name := range []string{"a", "b"} {
		out := filepath.Join(dir, name+".o")
		programtest.Run(t, dir, "gcc", "-std=gnu17", "-g", "-O1", "-fno-pic", "-c",
			"-DHIDDEN=__hide_"+name,
			"-DFUNCTION="+name, "-o", out, source)
		objs = append(objs, out)
	}
	linked, joined := filepath.Join(dir, "linked"), filepath.Join(dir, "joined.o")
	linkObjects(t, linked, objs...)
	programtest.Run(t, dir, "ld", "-r", "-o", joined, objs[0], objs[1])
	own := func(hidden string) string {
		return "struct s { union { long int now @0; struct { int was @0; } 4 " + hidden +
			" @0; } 8 @0; int __hid @64; } 16"
	}
	a, b, one := own("__hide_a"), own("__hide_b"), own("__hide_")
	two := []string{"int a(" + a + " *p);", "int b(" + b + " *p);", a, b}
	for _, tt := range []struct {
		prefix string
		want   []string
	}{
		{"", two},
		{"__hide_", []string{"int a(struct s *p);", "int b(struct s *p);", one}},
		{"__hide_a", two},
	} {
		opt := Options{Features: features.Default(), KABIPrefix: tt.prefix}
		for _, paths := range [][]string{{linked}, {joined}, objs} {
			var all []*object.Object
			for _, path := range paths {
				all = append(all, convertFile(t, path, opt))
			}
			r := linkTo(t, linked, opt.Features, all...)
			if d := diff(dump(t, r.BTF, false), tt.want); d != "" {
				t.Errorf("%q, %d files: -want +got\n%s", tt.prefix, len(paths), d)
			}
		}
	}
}
