package btf_test

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// ExampleParse writes a struct that refers to itself, and split BTF based on it, and reads both.
func ExampleParse() {
	vmlinux := btf.NewBuilder(nil, nil, nil)
	node := vmlinux.NextID() + 1
	pointer := vmlinux.Ref(btf.KindPtr, "", node)
	vmlinux.Composite(btf.KindStruct, "node", 8, false,
		btf.Member{NameOff: vmlinux.Name("next"), Type: pointer})
	data, err := vmlinux.Encode(btf.EncodeOptions{})
	if err != nil {
		panic(err)
	}
	base, err := btf.Parse(data, nil)
	if err != nil {
		panic(err)
	}

	module := btf.NewBuilder(nil, base, nil)
	module.Ref(btf.KindTypedef, "node_t", node) // its id comes after the ids of the base
	if data, err = module.Encode(btf.EncodeOptions{}); err != nil {
		panic(err)
	}
	split, err := btf.Parse(data, base)
	if err != nil {
		panic(err)
	}

	for id := uint32(1); id < split.EndID(); id++ {
		t, blob := split.ByID(id)
		fmt.Printf("[%d] %v %q", id, t.Kind, split.TypeName(t))
		for ref := range blob.Refs(t) {
			fmt.Printf(" to [%d]", *ref)
		}
		fmt.Println()
	}
	// Output:
	// [1] PTR "" to [2]
	// [2] STRUCT "node" to [1]
	// [3] TYPEDEF "node_t" to [2]
}
