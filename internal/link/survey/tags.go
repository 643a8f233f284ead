package survey

import "github.com/rules-btf/rules_btf/internal/model/types"

// Tags are the struct, union and enum tags of a graph, numbered from 0. A typedef that stubs refer
// to counts as a tag in its own namespace (types.TagTypedef).
type Tags struct {
	List []Tag
	// Nodes are the stubs and the definitions, in the order of the graph.
	Nodes  []types.ID
	of     []int32                 // by stub or definition: the number of its tag + 1
	byName Lists[types.Str, int32] // the numbers of a name's tags
	pinned map[int32][]types.ID
}

// Tag is one tag.
type Tag struct {
	Stub  types.ID // the unpinned stub, 0 if no reference to the tag is unpinned
	name  types.Str
	space types.Tag
}

func newTags(nodes, strs int) Tags {
	room := nodes / 8 // some 7 % of a kernel's nodes are the first of a tag
	return Tags{List: make([]Tag, 0, room), Nodes: make([]types.ID, 0, 2*room),
		of: make([]int32, nodes), byName: NewLists[types.Str, int32](strs, room),
		pinned: map[int32][]types.ID{}}
}

func (t *Tags) add(g *types.Graph, id types.ID) {
	n := &g.Nodes[id]
	tag := t.number(n.Name, n.Tag())
	t.Nodes = append(t.Nodes, id)
	t.of[id] = tag + 1
	switch {
	case n.Kind != types.KindStub:
	case n.IsPinned():
		t.pinned[tag] = append(t.pinned[tag], id)
	default:
		t.List[tag].Stub = id
	}
}

func (t *Tags) number(name types.Str, space types.Tag) int32 {
	for tag := range t.byName.Of(name) {
		if t.List[tag].space == space {
			return tag
		}
	}
	tag := int32(len(t.List))
	t.List = append(t.List, Tag{name: name, space: space})
	t.byName.Add(name, tag)
	return tag
}

// Of returns the number of the tag of a stub or a definition, or -1 for other nodes.
func (t *Tags) Of(id types.ID) int32 { return t.of[id] - 1 }

// TagHash returns the hash that the unpinned stub of a tag has or would have.
func (s *Shapes) TagHash(tag int32) types.Hash {
	t := &s.Tags.List[tag]
	return types.HashStub(t.space, s.Graph.Strs.Hash(t.name))
}

// HasPinned reports whether a tag has pinned stubs.
func (t *Tags) HasPinned(tag int32) bool { return len(t.pinned[tag]) > 0 }

// AnyPinned reports whether there are pinned stubs.
func (t *Tags) AnyPinned() bool { return len(t.pinned) > 0 }

// Stubs appends the stubs of a tag, the unpinned one first.
func (t *Tags) Stubs(tag int32, into []types.ID) []types.ID {
	if stub := t.List[tag].Stub; stub != 0 {
		into = append(into, stub)
	}
	return append(into, t.pinned[tag]...)
}
