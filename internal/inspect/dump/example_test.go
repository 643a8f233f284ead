package dump_test

import (
	"os"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/dump"
)

// ExampleRaw prints a module's BTF: a struct whose first member is an int from the kernel's BTF.
func ExampleRaw() {
	kernel := btf.NewBuilder(nil, nil, nil)
	number := kernel.Int("int", 4, btf.IntSigned, 0)
	module := btf.NewBuilder(nil, kernel.Finish(), nil)
	list := module.NextID()
	module.Composite(btf.KindStruct, "list", 16, false,
		btf.Member{NameOff: module.Name("value"), Type: number},
		btf.Member{NameOff: module.Name("next"), Type: list + 1, Offset: 64})
	module.Ref(btf.KindPtr, "", list)
	if err := dump.Raw(os.Stdout, module.Finish()); err != nil {
		panic(err)
	}
	// Output:
	// [2] STRUCT 'list' size=16 vlen=2
	// 	'value' type_id=1 bits_offset=0
	// 	'next' type_id=3 bits_offset=64
	// [3] PTR '(anon)' type_id=2
}
