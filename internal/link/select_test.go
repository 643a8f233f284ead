package link

import (
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/object"
	"github.com/rules-btf/rules_btf/internal/types"
)

func inputs(b *builder) []*object.Object { return []*object.Object{b.Object} }

func TestSelect(t *testing.T) {
	b := newBuilder()
	mark := func(name string) { b.Hold(b.Struct(name, b.Hold(b.Int("int")))) }
	for _, u := range []struct {
		file, mark string
		global     string
		static     string
	}{
		{"taken.c", "by_global", "g1", ""},
		{"taken.c", "by_static", "dropped1", "s1"},
		{"member.c", "not_needed", "dropped2", "s1"},
		{"member.c", "nothing_global", "", "s2"},
		{"empty.c", "types_only", "", ""},
		{"", "without_file", "dropped3", ""},
		{"hidden.c", "by_hidden", "hidden1", ""},
		{"extern_inline.c", "without_code", "nocode", ""},
	} {
		b.Unit(u.file, 1)
		mark(u.mark)
		if u.global != "" {
			var flags types.FuncFlags
			if u.global == "nocode" {
				flags = types.FuncNoCode
			}
			b.Fn(u.global, 1, flags, b.Proto(0))
		}
		if u.static != "" {
			b.Fn(u.static, 0, 0, b.Proto(0))
		}
	}
	x := &facts.Facts{
		HasFiles: true,
		Globals:  []string{"g1"},
		Files: []facts.File{{Funcs: []string{"hidden1"}},
			{Name: "taken.c", Funcs: []string{"s1.isra.0"}}},
	}
	structs := func(x *facts.Facts) (names []string) {
		lines, _ := b.link(t, Options{Facts: x, Features: features.Default()})
		for _, l := range lines {
			if len(l) > 7 && l[:7] == "struct " {
				names = append(names, l[7:len(l)-len("(int int)")])
			}
		}
		return names
	}
	if got, want := structs(x), []string{"by_global", "by_hidden", "by_static", "nothing_global",
		"types_only", "without_code", "without_file"}; !slices.Equal(got, want) {
		t.Errorf("with files: %q, want %q", got, want)
	}
	x.HasFiles = false
	if got := structs(x); len(got) != 8 {
		t.Errorf("without files: %q, want all eight", got)
	}
}
