package verify_test

import (
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestStricterThanTheKernel checks types that kernels accept but Check intentionally rejects,
// because kernels reject the same types if they have different ids.
func TestStricterThanTheKernel(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(b *btf.Builder)
		want  string
	}{
		{"array beyond a struct, in a const that a pointer reached first", func(b *btf.Builder) {
			// 2
			b.Ref(btf.KindPtr, "", 3)
			// 3
			b.Ref(btf.KindConst, "", 5)
			// 4
			b.Composite(btf.KindStruct, "s", 4, false, btf.Member{NameOff: b.Name("a"), Type: 3})
			// 5
			b.Array(1, 1, 2)
			// 6
			b.Composite(btf.KindStruct, "plain", 8, false, btf.Member{NameOff: b.Name("a"), Type: 5})
			// 7
			b.Composite(btf.KindStruct, "plain_const", 8, false,
				btf.Member{NameOff: b.Name("a"), Type: 3})
		}, "[4] STRUCT s: member-bounds: member a ends at byte 8, but the size is 4"},
		{"struct in itself, through a const that a pointer reached first", func(b *btf.Builder) {
			b.Ref(btf.KindPtr, "", 3)
			b.Ref(btf.KindConst, "", 4)
			b.Composite(btf.KindStruct, "s", 4, false, btf.Member{NameOff: b.Name("a"), Type: 3})
		}, "[4] STRUCT s: loop: it contains itself through type [3]"},
		{"pointer to a function that was resolved before", func(b *btf.Builder) {
			b.FuncProto(0)
			b.Func("f", 2, 0)
			b.Ref(btf.KindPtr, "", 3)
		}, "[4] PTR (anon): type-kind: it leads to [3], a FUNC"},
	} {
		b := btf.NewBuilder(native, nil, nil)
		b.Int("int", 4, 0, 0)
		c.build(b)
		data := must.Get(b.Encode(btf.EncodeOptions{}))(t)
		if got := judge(data); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if kernel := askKernel(t, data, 1<<16); kernel != "" &&
			!strings.Contains(kernel, "invalid argument") {
			t.Errorf("%s: the kernel says %s", c.name, kernel)
		} else {
			t.Logf("%s: kernel: %q", c.name, kernel)
		}
	}
}
