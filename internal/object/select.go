package object

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/types"
)

// layout is which nodes of a graph get a type record in a file, and which id.
type layout struct {
	g      *types.Graph
	order  []types.ID // nodes with a record; the record's id is the index plus 1
	id     []uint32   // by node: the type id by which others refer to it, 0 for void
	record []uint32   // by node: its own record's id, 0 for none; differs from id for stubs
	names  []types.Str
	rank   []uint32 // by string: its index in names
}

// newLayout chooses the nodes that are reachable from the units' items and puts them in canonical
// order: unnamed ones first, then by name, kind and content.
//
// A plain stub refers to a definition of its tag: the first in this order. It has a record, a
// declaration, only if there is none, if it is an item, or if a declaration tag is on it.
func newLayout(o *Object) (*layout, error) {
	l := &layout{g: o.Graph, id: make([]uint32, len(o.Graph.Nodes)),
		record: make([]uint32, len(o.Graph.Nodes))}
	const reached, item, tagged = 1, 2, 4
	mark := make([]uint8, len(l.g.Nodes))
	var stack []types.ID
	visit := func(id types.ID) {
		if id != 0 && mark[id] == 0 {
			mark[id] = reached
			stack = append(stack, id)
		}
	}
	for i := range o.Units {
		for _, id := range o.Units[i].Items {
			visit(id)
			if mark[id] |= item; id == 0 {
				return nil, fmt.Errorf("a unit of %q lists void as a type", l.g.Strs.String(o.Units[i].File))
			}
		}
	}
	for len(stack) > 0 {
		n := l.g.Node(stack[len(stack)-1])
		stack = stack[:len(stack)-1]
		visit(n.Ref)
		if n.Kind == types.KindDeclTag {
			mark[n.Ref] |= tagged
		}
		for _, e := range l.g.ElemsOf(n) {
			visit(e.Ref)
		}
	}

	l.sortNames(mark)
	defined := make([]bool, tagSlots*len(l.names))
	for id := range l.g.Nodes {
		n := &l.g.Nodes[id]
		if mark[id] == 0 || !n.IsDefinition() {
			continue
		}
		if n.Count == 0 && types.TagOf(n.Kind) == types.TagEnum {
			return nil, fmt.Errorf("enum %s has no enumerators: BTF can't tell its definition from a declaration", l.g.Name(n))
		}
		defined[l.tagSlot(types.TagOf(n.Kind), n.Name)] = true
	}
	for id := range l.g.Nodes {
		n := &l.g.Nodes[id]
		if mark[id] == 0 {
			continue
		}
		if n.Kind == types.KindStub {
			own := mark[id]&(item|tagged) != 0
			if own && n.Size == 1 {
				return nil, fmt.Errorf("a pinned reference to %q stands where a definition or a declaration belongs", l.g.Name(n))
			}
			if n.Size == 1 || !own && defined[l.tagSlot(types.Tag(n.Aux), n.Name)] {
				continue
			}
		}
		l.order = append(l.order, types.ID(id))
	}
	l.sort()
	l.resolve(mark)
	return l, nil
}

// sortNames collects the names of marked nodes and their elements, in bytewise order after the
// empty one.
func (l *layout) sortNames(mark []uint8) {
	l.rank = make([]uint32, l.g.Strs.Len())
	l.names = []types.Str{0}
	add := func(s types.Str) {
		if s != 0 && l.rank[s] == 0 {
			l.rank[s] = 1
			l.names = append(l.names, s)
		}
	}
	for id := range l.g.Nodes {
		if mark[id] == 0 {
			continue
		}
		n := &l.g.Nodes[id]
		add(n.Name)
		for _, e := range l.g.ElemsOf(n) {
			add(e.Name)
		}
	}
	l.g.Strs.Sort(l.names[1:], nil)
	for i, s := range l.names {
		l.rank[s] = uint32(i)
	}
}

// sort puts order into the order of types.Graph.Compare: by name in one pass, for ranks are small
// numbers, then those of one name by kind and content.
func (l *layout) sort() {
	at := make([]uint32, len(l.names)+1) // where the nodes of each name begin
	for _, id := range l.order {
		at[l.rank[l.g.Node(id).Name]+1]++
	}
	for i := 1; i < len(at); i++ {
		at[i] += at[i-1]
	}
	type key struct {
		hash types.Hash
		id   types.ID
		kind types.Kind
	}
	keys := make([]key, len(l.order))
	for _, id := range l.order {
		n := l.g.Node(id)
		p := &at[l.rank[n.Name]]
		keys[*p] = key{n.Hash, id, n.Kind}
		*p++
	}
	start := uint32(0)
	for _, end := range at[:len(l.names)] {
		if end-start > 1 {
			slices.SortFunc(keys[start:end], func(a, b key) int {
				if a.kind != b.kind {
					return cmp.Compare(a.kind, b.kind)
				}
				return a.hash.Cmp(b.hash)
			})
		}
		start = end
	}
	for i, k := range keys {
		l.order[i] = k.id
	}
}

// tagSlot is a number below tagSlots*len(l.names) for each tag of a marked node.
func (l *layout) tagSlot(tag types.Tag, name types.Str) int {
	return int(l.rank[name])*tagSlots + int(tag)
}

const tagSlots = int(types.TagEnum) + 1

// resolve fills in id and record.
func (l *layout) resolve(mark []uint8) {
	defs := make([]uint32, tagSlots*len(l.names))
	for i, id := range l.order {
		n := l.g.Node(id)
		l.record[id] = uint32(i + 1)
		if n.IsDefinition() {
			if def := &defs[l.tagSlot(types.TagOf(n.Kind), n.Name)]; *def == 0 {
				*def = uint32(i + 1)
			}
		}
	}
	for id := range l.g.Nodes {
		n := &l.g.Nodes[id]
		switch {
		case mark[id] == 0:
		case n.Kind != types.KindStub:
			l.id[id] = l.record[id]
		case n.Size == 1:
			l.id[id] = l.record[n.Ref]
		default:
			if l.id[id] = defs[l.tagSlot(types.Tag(n.Aux), n.Name)]; l.id[id] == 0 {
				l.id[id] = l.record[id]
			}
		}
	}
}
