package link

import (
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
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
		{"not_linked.c", "types_not_linked", "", ""},
		{"other.i", "other_name", "g2", "s3"},
		{"data.c", "data_alone", "dropped4", ""},
		{"core.c", "core_by_global", "g3", ""},
		{"core.c", "core_data", "", "s4"},
		{"core.c", "core_member", "dropped5", ""},
		{"fdt.c", "prefixed_data", "dropped6", ""},
		{"double.c", "defined_elsewhere", "g1", "s1"},
		{"entry.S", "assembler", "", "s5"},
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
		Globals:  []string{"g1", "g2", "g3"},
		Files: []facts.File{{Funcs: []string{"hidden1"}}, {Name: "__pi_fdt.c"}, {Name: "core.c"},
			{Name: "core.c"}, {Name: "data.c"}, {Name: "empty.c"}, {Name: "extern_inline.c"},
			{Name: "hidden.c"}, {Name: "taken.c", Funcs: []string{"s1.isra.0"}}, {Name: "taken.c"}},
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
	if got, want := structs(x), []string{"assembler", "by_global", "by_hidden", "by_static",
		"core_by_global", "core_data", "data_alone", "other_name", "prefixed_data", "types_only",
		"without_code", "without_file"}; !slices.Equal(got, want) {
		t.Errorf("with files: %q, want %q", got, want)
	}
	x.HasFiles = false
	if got := structs(x); len(got) != 17 {
		t.Errorf("without files: %q, want all 17", got)
	}
}
