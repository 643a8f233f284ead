package verify_test

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
)

// ExampleCheck checks a struct of 4 bytes with two members of 4 bytes each.
func ExampleCheck() {
	b := btf.NewBuilder(nil, nil, nil)
	integer := b.Int("int", 4, btf.IntSigned, 32)
	b.Composite(btf.KindStruct, "opts", 4, false,
		btf.Member{NameOff: b.Name("level"), Type: integer, Offset: 0},
		btf.Member{NameOff: b.Name("flags"), Type: integer, Offset: 32})
	for _, v := range verify.Check(b.Finish(), verify.Options{}) {
		fmt.Println(v)
	}
	// Output:
	// [2] STRUCT opts: member-bounds: member flags ends at byte 8, but the size is 4
}
