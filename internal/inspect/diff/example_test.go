package diff_test

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
)

// ExampleCompare compares two builds. In the second build, struct opts has one more member. The
// record of struct dev, which points to struct opts, is the same in both builds.
func ExampleCompare() {
	build := func(members ...string) *btf.Blob {
		b := btf.NewBuilder(nil, nil, nil)
		integer := b.Int("int", 4, 0, 32)
		var list []btf.Member
		for i, name := range members {
			list = append(list,
				btf.Member{NameOff: b.Name(name), Type: integer, Offset: 32 * uint32(i)})
		}
		opts := b.Composite(btf.KindStruct, "opts", 4*uint32(len(list)), false, list...)
		b.Composite(btf.KindStruct, "dev", 8, false,
			btf.Member{NameOff: b.Name("opts"), Type: b.Ref(btf.KindPtr, "", opts)})
		return b.Finish()
	}
	a, b := diff.Side{build("level")}, diff.Side{build("level", "flags")}
	differences, summary := diff.Compare(a, b, diff.Options{Indirect: true})
	for _, d := range differences {
		fmt.Println(d)
	}
	fmt.Println(summary)
	// Output:
	// differs: struct opts: member flags: only in B (size 4 vs 8)
	// indirect: struct dev: member opts: refers to struct opts, which differs
	// 1 equal, 0 only in A, 0 only in B, 1 differ, 0 forward declarations, 1 differ only because of those (4 types in A, 4 in B)
}
