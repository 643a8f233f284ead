package object

import (
	"unsafe"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// TypeShape is the shape of a type in BTF.
type TypeShape struct {
	Hash  types.Hash // with plain stubs in place of pinned ones (types.Graph.Unpinned)
	Stub  types.Hash // the stub of the tag that the type defines; zero if it defines none
	Kind  types.Kind // KindStub for a declaration, KindVoid for a location
	Leads bool       // the type declares a tag, or its shape leads to a stub
}

// TypeShapes returns the shape of each type in a chain of BTF (see Chain), by type id.
func TypeShapes(chain ...*btf.Blob) ([]TypeShape, error) {
	if len(chain) == 1 {
		if list, ok := hashedShapes(chain[0]); ok {
			return list, nil
		}
	}
	return graphShapes(chain)
}

// hashedShapes is TypeShapes for BTF without a base. It hashes the types in place, which is faster
// than making a graph: btfgen elf --base takes half as much user time for kvm.ko. ok is false if
// the BTF is damaged, has locations, or has cycles of types without a tag.
func hashedShapes(b *btf.Blob) (list []TypeShape, ok bool) {
	a := absorber{blob: *b, text: unsafe.Slice(unsafe.StringData(b.Strings), len(b.Strings)),
		sizes: make([]uint32, len(b.Types)+1)}
	if !a.hashNames() || !a.hashTypes() || endlessIn(b) != nil {
		return nil, false
	}
	list = make([]TypeShape, len(a.shapes))
	for id := 1; id < len(list); id++ {
		s := &a.shapes[id]
		list[id] = TypeShape{Hash: s.hash, Kind: s.nodeKind(), Leads: s.leads}
		if s.tag != 0 && !s.fwd {
			list[id].Stub = s.stub
		}
	}
	return list, true
}

// graphShapes does the work of TypeShapes for any chain.
func graphShapes(chain []*btf.Blob) ([]TypeShape, error) {
	o := New(Target{}, 0)
	nodes, err := o.AddBTF(chain...)
	if err != nil {
		return nil, err
	}
	g := o.Graph
	shapes, leads := g.Unpinned(), g.Leads()
	list := make([]TypeShape, len(nodes))
	for id, node := range nodes {
		n := g.Node(node)
		list[id] = TypeShape{Hash: shapes[node], Kind: n.Kind, Leads: leads[node]}
		if n.IsDefinition() {
			list[id].Stub = types.HashStub(types.TagOf(n.Kind), g.Strs.Hash(n.Name))
		}
	}
	return list, nil
}
