package link

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/types"
)

// tag is what is known of one struct, union or enum tag.
type tag struct {
	stub       types.ID // the unpinned stub, 0 if nothing refers to the tag by it
	def        types.ID // a definition that some unit holds; the only one unless the tag is conflicted
	hash       types.Hash
	pinned     int32     // the last of its pinned stubs in tagTable.pinned, + 1
	next       int32     // the next tag of this name + 1
	space      types.Tag // its namespace
	conflicted bool      // several definitions, or one of several is pinned
	// the tag can mean several types: it is conflicted, or reaches a conflicted tag
	varies bool
}

// tagTable finds the tags of a graph.
type tagTable struct {
	byName []int32 // a tag's index + 1
	of     []int32 // by node: the tag of a stub or of a definition, else -1
	list   []tag
	pinned []pinnedStub
}

// pinnedStub is in the list of those of its tag.
type pinnedStub struct {
	node types.ID
	next int32 // as tag.pinned
}

// add notes the tag of a stub or definition.
func (t *tagTable) add(g *types.Graph, id types.ID, space types.Tag) {
	n := &g.Nodes[id]
	i := t.byName[n.Name] - 1
	for i >= 0 && t.list[i].space != space {
		i = t.list[i].next - 1
	}
	if i < 0 {
		i = int32(len(t.list))
		t.list = append(t.list, tag{hash: types.HashStub(space, g.Strs.Hash(n.Name)), space: space,
			next: t.byName[n.Name]})
		t.byName[n.Name] = i + 1
	}
	t.of[id] = i
	switch {
	case n.Kind != types.KindStub:
	case n.Size != 0:
		t.list[i].conflicted = true
		t.pinned = append(t.pinned, pinnedStub{id, t.list[i].pinned})
		t.list[i].pinned = int32(len(t.pinned))
	default:
		t.list[i].stub = id
	}
}

// findConflicts looks at which definitions of the tags are held.
func (l *linker) findConflicts() {
	t := &l.tags
	for _, id := range l.seen.tagged {
		if l.seen.kinds[id] == types.KindStub || l.weight[id] == 0 && !l.inBase(id) {
			continue
		}
		tag := &t.list[t.of[id]]
		tag.conflicted = tag.conflicted || tag.def != 0
		tag.def = id
	}
	for _, id := range l.base.declared {
		if t := &t.list[t.of[id]]; t.def != 0 {
			t.conflicted = true // a base that only declares the tag never means the definition
		}
	}
}

// conflicts is the number of conflicted tags.
func (l *linker) conflicts() int {
	n := 0
	for i := range l.tags.list {
		if l.tags.list[i].conflicted {
			n++
		}
	}
	return n
}

// role says how a shape takes part when types are told apart.
type role uint8

const (
	plain  role = iota // reaches no conflicted tag: the shape is the type
	inner              // anonymous: has a meaning only inside an anchor or a root
	anchor             // a definition, a typedef, or a big anonymous shape: has one meaning in a unit
	stub               // of a tag that varies
)

// bigInner is the number of varying shapes in an anonymous shape from which on it is an anchor of
// its own, so that programs stay small whatever the input.
const bigInner = 256

// findRoles finds the shapes that reach a conflicted tag, backwards from these tags, and lists the
// anchors in order.
func (l *linker) findRoles() {
	l.role = make([]role, len(l.nodes))
	if l.conflicts() == 0 {
		return
	}
	var work, varying []types.ID // the latter without stubs
	become := func(id types.ID, r role) {
		if l.role[id] == plain {
			l.role[id] = r
			varying = append(varying, id)
		}
	}
	vary := func(i int32) {
		t := &l.tags.list[i]
		t.varies = true
		first := len(work)
		if t.stub != 0 {
			work = append(work, t.stub)
		}
		for p := t.pinned; p != 0; p = l.tags.pinned[p-1].next {
			work = append(work, l.tags.pinned[p-1].node)
		}
		for _, id := range work[first:] {
			l.role[id] = stub
		}
	}
	for i := range l.tags.list {
		if l.tags.list[i].conflicted {
			vary(int32(i))
		}
	}
	users := &l.seen.users
	for len(work) > 0 {
		id := work[len(work)-1]
		work = work[:len(work)-1]
		for at := users.first[id]; at != 0; at = users.list[at-1].next {
			u := users.list[at-1].node
			if l.role[u] != plain {
				continue
			}
			r := inner
			if n := &l.nodes[u]; n.Kind == types.KindTypedef || n.IsDefinition() {
				r = anchor
			}
			become(u, r)
			work = append(work, u)
			if t := l.tags.of[u]; t >= 0 && !l.tags.list[t].varies && (l.weight[u] != 0 || l.inBase(u)) {
				vary(t)
			}
		}
	}
	// definitions that themselves reach no conflicted tag: stubs lead to them
	for _, id := range l.seen.tagged {
		if l.tags.list[l.tags.of[id]].varies {
			become(id, anchor)
		}
	}
	for _, list := range [][]candidate{l.seen.functions.list, l.seen.variables.list} {
		for i := range list {
			if l.role[list[i].ref] != plain {
				become(list[i].node, inner)
			}
		}
	}
	for _, id := range l.seen.sections {
		for _, e := range l.g.ElemsOf(&l.nodes[id]) {
			if l.role[e.Ref] != plain {
				become(id, inner)
			}
		}
	}
	for _, id := range l.seen.declTags {
		if l.role[l.nodes[id].Ref] != plain {
			become(id, inner)
		}
	}
	slices.Sort(varying) // children come first in the graph
	l.findBig(varying)
	for _, id := range varying {
		if l.role[id] == anchor {
			l.anchors = append(l.anchors, id)
		}
	}
}

// findBig makes anchors of big inner shapes. The varying shapes are given children first.
func (l *linker) findBig(varying []types.ID) {
	sizes := make([]uint16, len(l.nodes))
	var refs []types.ID
	for _, id := range varying {
		if l.role[id] != inner {
			continue
		}
		size := 1
		refs = l.g.Refs(id, refs[:0])
		for _, r := range refs {
			if l.role[r] == inner {
				size += int(sizes[r])
			}
			if size > bigInner {
				break
			}
		}
		if sizes[id] = uint16(min(size, bigInner)); size >= bigInner {
			l.role[id] = anchor
		}
	}
}
