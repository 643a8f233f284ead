package survey

import (
	"github.com/rules-btf/rules_btf/internal/types"
)

// Tags are the struct, union and enum tags of a graph, numbered from 0. A typedef that stubs refer
// to counts as a tag in a namespace of its own (types.TagTypedef).
type Tags struct {
	List []Tag
	// Nodes are the stubs and the definitions, in the order of the graph.
	Nodes  []types.ID
	of     []int32 // by node: the tag of a stub or of a definition, else -1
	byName []int32 // a tag's number + 1
	pinned []pinnedStub
}

// Tag is one tag.
type Tag struct {
	Stub   types.ID   // the unpinned stub, 0 if nothing refers to the tag by it
	Hash   types.Hash // of that stub
	space  types.Tag
	pinned int32 // the last of its pinned stubs in Tags.pinned, + 1
	next   int32 // the number of the next tag of this name + 1
}

// pinnedStub is in the list of those of its tag.
type pinnedStub struct {
	node types.ID
	next int32 // as Tag.pinned
}

func (t *Tags) init(nodes, strs int) {
	t.byName = make([]int32, strs)
	t.of = make([]int32, nodes)
	for i := range t.of {
		t.of[i] = -1
	}
}

// add notes the tag of a stub or definition.
func (t *Tags) add(g *types.Graph, id types.ID, space types.Tag) {
	t.Nodes = append(t.Nodes, id)
	n := &g.Nodes[id]
	i := t.byName[n.Name] - 1
	for i >= 0 && t.List[i].space != space {
		i = t.List[i].next - 1
	}
	if i < 0 {
		i = int32(len(t.List))
		stub := types.HashStub(space, g.Strs.Hash(n.Name))
		t.List = append(t.List, Tag{Hash: stub, space: space, next: t.byName[n.Name]})
		t.byName[n.Name] = i + 1
	}
	t.of[id] = i
	switch {
	case n.Kind != types.KindStub:
	case n.Size != 0:
		t.pinned = append(t.pinned, pinnedStub{id, t.List[i].pinned})
		t.List[i].pinned = int32(len(t.pinned))
	default:
		t.List[i].Stub = id
	}
}

// Of returns the number of the tag of a stub or a definition, -1 for other nodes.
func (t *Tags) Of(id types.ID) int32 { return t.of[id] }

// HasPinned tells whether a tag has pinned stubs.
func (t *Tags) HasPinned(tag int32) bool { return t.List[tag].pinned != 0 }

// AnyPinned tells whether there are pinned stubs.
func (t *Tags) AnyPinned() bool { return len(t.pinned) > 0 }

// Stubs appends the stubs of a tag, the unpinned one first.
func (t *Tags) Stubs(tag int32, into []types.ID) []types.ID {
	k := &t.List[tag]
	if k.Stub != 0 {
		into = append(into, k.Stub)
	}
	for p := k.pinned; p != 0; p = t.pinned[p-1].next {
		into = append(into, t.pinned[p-1].node)
	}
	return into
}
