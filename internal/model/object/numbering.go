package object

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// numbering has the nodes of a graph that get a record in a file, and the ids of these records.
type numbering struct {
	g      *types.Graph
	jobs   int        // threads
	order  []types.ID // nodes with a record; the record's id is the index plus 1
	id     []uint32   // by node: the type id by which others refer to it, 0 for void
	record []uint32   // by node: the id of its record, 0 for none; for stubs it differs from id
	pinned bool       // some references are pinned
	names  []types.Str
	rank   []uint32 // by string: its index in names
}

// newNumbering numbers the nodes that can be reached from the units' items, in canonical order:
// anonymous nodes first, then the others by name, kind and content.
//
// A plain stub resolves to the first definition of its tag in this order. It has its own record, a
// declaration, only if there is no definition, if it is an item, or if a declaration tag is on it.
// Rule: .btfo: which types it has, and their order.
func newNumbering(o *Object, jobs int) (*numbering, error) {
	num := &numbering{g: o.Graph, jobs: jobs, id: make([]uint32, len(o.Graph.Nodes)),
		record: make([]uint32, len(o.Graph.Nodes))}
	const reached, item, annotated = 1, 2, 4
	mark := make([]uint8, len(num.g.Nodes))
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
				return nil, fmt.Errorf("a unit of %q lists void as a type", num.g.Strs.String(o.Units[i].File))
			}
		}
	}
	for len(stack) > 0 {
		n := num.g.Node(stack[len(stack)-1])
		stack = stack[:len(stack)-1]
		visit(n.Ref)
		if n.Kind == types.KindDeclTag {
			mark[n.Ref] |= annotated
		}
		for _, e := range num.g.ElemsOf(n) {
			visit(e.Ref)
		}
	}

	num.sortNames(mark)
	defined := make([]bool, tagKinds*len(num.names))
	for id := range num.g.Nodes {
		n := &num.g.Nodes[id]
		if mark[id] == 0 || !n.IsDefinition() {
			continue
		}
		if n.Count == 0 && n.Tag() == types.TagEnum {
			return nil, fmt.Errorf(
				"enum %s has no enumerators: BTF can't tell its definition from a declaration", num.g.Name(n))
		}
		defined[num.tagIndex(n)] = true
	}
	for id := range num.g.Nodes {
		n := &num.g.Nodes[id]
		if mark[id] == 0 {
			continue
		}
		if n.Kind == types.KindStub {
			own := mark[id]&(item|annotated) != 0
			num.pinned = num.pinned || n.IsPinned()
			if own && n.IsPinned() {
				return nil, fmt.Errorf("there is a pinned reference to %q where only a definition "+
					"or a declaration is allowed", num.g.Name(n))
			}
			if n.IsPinned() || !own && defined[num.tagIndex(n)] {
				continue
			}
		}
		num.order = append(num.order, types.ID(id))
	}
	num.sort()
	num.resolve(mark)
	return num, nil
}

// sortNames collects the names of marked nodes and of their elements: first the empty name, then
// the others in bytewise order.
func (num *numbering) sortNames(mark []uint8) {
	num.rank = make([]uint32, num.g.Strs.Len())
	num.names = []types.Str{0}
	add := func(s types.Str) {
		if s != 0 && num.rank[s] == 0 {
			num.rank[s] = 1
			num.names = append(num.names, s)
		}
	}
	for id := range num.g.Nodes {
		if mark[id] == 0 {
			continue
		}
		n := &num.g.Nodes[id]
		add(n.Name)
		for _, e := range num.g.ElemsOf(n) {
			add(e.Name)
		}
	}
	num.g.Strs.Sort(num.names[1:],
		func(parts int, do func(int)) { parallel.Do(num.jobs, parts, do) })
	for i, s := range num.names {
		num.rank[s] = uint32(i)
	}
}

// sort puts num.order into canonical order: by rank of the name, kind and content.
func (num *numbering) sort() {
	type key struct {
		hash types.Hash
		id   types.ID
		kind types.Kind
		name uint32
	}
	keys := make([]key, len(num.order))
	for i, id := range num.order {
		n := num.g.Node(id)
		keys[i] = key{n.Hash, id, n.Kind, num.rank[n.Name]}
	}
	// Many nodes are anonymous: the first bits of their hashes say roughly where they belong.
	const bits = 6
	const anonymous = (uint32(types.KindStub) + 1) << bits
	keys, begin := types.Buckets(keys, len(num.names)+int(anonymous), func(k key) uint32 {
		if k.name == 0 {
			return uint32(k.kind)<<bits | uint32(k.hash.A>>(64-bits))
		}
		return anonymous + k.name
	})
	const some = 1 << 8 // buckets
	parallel.Do(num.jobs, (len(begin)+some-2)/some, func(part int) {
		end := min((part+1)*some, len(begin)-1)
		for i := part * some; i < end; i++ {
			if begin[i+1]-begin[i] > 1 {
				slices.SortFunc(keys[begin[i]:begin[i+1]], func(a, b key) int {
					if a.kind != b.kind {
						return cmp.Compare(a.kind, b.kind)
					}
					return a.hash.Cmp(b.hash)
				})
			}
		}
		for i := begin[part*some]; i < begin[end]; i++ {
			num.order[i] = keys[i].id
		}
	})
}

// tagIndex returns a number below tagKinds*len(num.names) for the tag of a marked node.
func (num *numbering) tagIndex(n *types.Node) int {
	return int(num.rank[n.Name])*tagKinds + int(n.Tag())
}

const tagKinds = int(types.TagEnum) + 1

// resolve fills in id and record.
func (num *numbering) resolve(mark []uint8) {
	defs := make([]uint32, tagKinds*len(num.names))
	for i, id := range num.order {
		n := num.g.Node(id)
		num.record[id] = uint32(i + 1)
		if n.IsDefinition() {
			if def := &defs[num.tagIndex(n)]; *def == 0 {
				*def = uint32(i + 1)
			}
		}
	}
	for id := range num.g.Nodes {
		n := &num.g.Nodes[id]
		switch {
		case mark[id] == 0:
		case n.Kind != types.KindStub:
			num.id[id] = num.record[id]
		case n.IsPinned():
			num.id[id] = num.record[n.Ref]
		default:
			if num.id[id] = defs[num.tagIndex(n)]; num.id[id] == 0 {
				num.id[id] = num.record[id]
			}
		}
	}
}
