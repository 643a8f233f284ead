package link_test

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/linktest"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// ExampleLink links CUs that have the same struct dev, with a pointer to struct opts. There are two
// CUs with the content of a.c. They define struct opts in one way and b.c in another, so struct dev
// becomes two types. c.c only declares struct opts: this FWD resolves to the definition in a.c,
// because most CUs have it.
func ExampleLink() {
	b := linktest.New()
	dev := b.Struct("dev", b.Ptr(b.Stub("opts")))
	b.Unit("a.c", 2, dev, b.Struct("opts", b.Int("int")))
	b.Unit("b.c", 1, dev, b.Struct("opts", b.Int("long")))
	b.Unit("c.c", 1, dev)
	o := object.New(object.Target{AddrSize: 8}, 0)
	o.Graph, o.Units = b.Graph, b.Units

	result, err := link.Link([]*object.Object{o}, link.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println("tags with several definitions:", result.Conflicts)
	blob, err := btf.Parse(result.BTF, nil)
	if err != nil {
		panic(err)
	}
	for id := uint32(1); id < blob.EndID(); id++ {
		t, _ := blob.ByID(id)
		fmt.Printf("[%d] %v %q", id, t.Kind, blob.TypeName(t))
		for ref := range blob.Refs(t) {
			fmt.Printf(" to [%d]", *ref)
		}
		fmt.Println()
	}
	// Output:
	// tags with several definitions: 1
	// [1] PTR "" to [8]
	// [2] PTR "" to [7]
	// [3] STRUCT "dev" to [1]
	// [4] STRUCT "dev" to [2]
	// [5] INT "int"
	// [6] INT "long"
	// [7] STRUCT "opts" to [6]
	// [8] STRUCT "opts" to [5]
}
