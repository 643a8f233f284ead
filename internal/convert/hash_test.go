package convert

import (
	"testing"

	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestHashesAreOfContent: every node's hash, which was computed from the type's description, equals
// the hash of the node's content in the graph.
func TestHashesAreOfContent(t *testing.T) {
	nodes := 0
	for path := range programtest.Seeds(t, "testdata/objects/*.[oe]*") {
		for _, list := range []string{"default", "default,true_signature,global_var"} {
			o, err := tryConvert(path, Options{Features: parseFeatures(t, list)})
			if err != nil {
				continue // meant to fail
			}
			for id := 1; id < len(o.Graph.Nodes); id++ {
				n := *o.Graph.Node(types.ID(id))
				if n.Kind == types.KindStub {
					continue
				}
				nodes++
				if got := o.Graph.Add(n, o.Graph.ElemsOf(&n)); got != types.ID(id) {
					t.Errorf("%s: %v %q has hash %x, its content %x", path, n.Kind, o.Graph.Name(&n), n.Hash,
						o.Graph.Node(got).Hash)
				}
			}
		}
	}
	if nodes < 500 {
		t.Errorf("%d nodes are too few for this test", nodes)
	}
}
