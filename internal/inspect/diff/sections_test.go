package diff

import (
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// TestSections: a variable that is in a different section is one change.
func TestSections(t *testing.T) {
	// sections makes BTF from texts such as ".data: v w"; each variable takes 4 bytes.
	sections := func(texts ...string) Side {
		b := btf.NewBuilder(nil, nil, nil)
		i := b.Int("int", 4, btf.IntSigned, 0)
		for _, text := range texts {
			name, vars, _ := strings.Cut(text, ":")
			var entries []btf.Secinfo
			for n, v := range strings.Fields(vars) {
				entries = append(entries, btf.Secinfo{Type: b.Var(v, i, btf.LinkageGlobal),
					Offset: uint32(4 * n), Size: 4})
			}
			b.Datasec(name, uint32(4*len(entries)), entries...)
		}
		return Side{b.Finish()}
	}
	for _, c := range []struct {
		name string
		a, b Side
		want string
	}{
		{"both sections on both sides",
			sections(".bss: w", ".data: u v"), sections(".bss: w v", ".data: u"),
			"datasec .bss; size:  4 → 8; datasec .data; section entry v: .data → .bss; size:  8 → 4"},
		{"a new section", sections(".data: u v"), sections(".bss: v", ".data: u"),
			"datasec .data; section entry v: .data → .bss; size:  8 → 4; datasec .bss"},
		{"a section without other variables", sections(".bss: w", ".data: v"), sections(".bss: w v"),
			"datasec .data; datasec .bss; section entry v: .data → .bss; size:  4 → 8"},
		{"in exchange", sections(".bss: w", ".data: v"), sections(".bss: v", ".data: w"),
			"datasec .bss; section entry w: .bss → .data; section entry v: .data → .bss; " +
				"datasec .data; section entry v: .data → .bss; section entry w: .bss → .data"},
		{"a name that repeats", sections(".bss: v", ".data: u v"), sections(".bss: v", ".data: u"),
			"datasec .data; removed entry v: 4 bytes → ; size:  8 → 4"},
	} {
		list, _ := Compare(c.a, c.b, Options{})
		var got []string
		for _, d := range list {
			if d.Kind != "datasec" {
				continue
			}
			got = append(got, d.Type)
			for _, x := range d.Changes {
				got = append(got, strings.ReplaceAll(x.text(), "size:", "size: "))
			}
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, s, c.want)
		}
	}
}
