package distill_test

import (
	"fmt"
	"os"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/dump"
	"github.com/rules-btf/rules_btf/internal/kernel/distill"
)

// ExampleDistill distills the base of a module with a struct that contains a struct page of the
// kernel. The distilled base has only the name and size of struct page.
func ExampleDistill() {
	kernel := btf.NewBuilder(nil, nil, nil)
	long := kernel.Int("long int", 8, btf.IntSigned, 0)
	kernel.Composite(btf.KindStruct, "inode", 8, false,
		btf.Member{NameOff: kernel.Name("i_ino"), Type: long})
	page := kernel.Composite(btf.KindStruct, "page", 8, false,
		btf.Member{NameOff: kernel.Name("flags"), Type: long})
	module := btf.NewBuilder(nil, kernel.Finish(), nil)
	module.Composite(btf.KindStruct, "cache", 8, false,
		btf.Member{NameOff: module.Name("first"), Type: page})
	base, split, err := distill.Distill(module.Finish())
	if err != nil {
		panic(err)
	}
	for _, b := range []*btf.Blob{base, split} {
		if err := dump.Raw(os.Stdout, b); err != nil {
			panic(err)
		}
		fmt.Println()
	}
	// Output:
	// [1] STRUCT 'page' size=8 vlen=0
	//
	// [2] STRUCT 'cache' size=8 vlen=1
	// 	'first' type_id=1 bits_offset=0
}
