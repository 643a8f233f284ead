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
	conflicted bool // several definitions, or one of several is pinned
	varies     bool // the tag can mean several types: it is conflicted, or reaches a conflicted tag
}

// tagTable finds the tags of a graph.
type tagTable struct {
	index [3][]int32 // by namespace and name: the tag's index + 1
	of    []int32    // by node: the tag of a stub or of a definition, else -1
	list  []tag
}

func (l *linker) findTags() {
	t := &l.tags
	for i := range t.index {
		t.index[i] = make([]int32, l.g.Strs.Len())
	}
	t.of = make([]int32, len(l.nodes))
	for id := range l.nodes {
		n := &l.nodes[id]
		space := types.TagOf(n.Kind)
		if n.Kind == types.KindStub {
			space = types.Tag(n.Aux)
		}
		if space == 0 || n.Name == 0 {
			t.of[id] = -1
			continue
		}
		at := &t.index[space-1][n.Name]
		if *at == 0 {
			t.list = append(t.list, tag{hash: types.HashStub(space, l.g.Strs.Hash(n.Name))})
			*at = int32(len(t.list))
		}
		i := *at - 1
		t.of[id] = i
		switch {
		case n.Kind != types.KindStub:
			if l.weight[id] == 0 && !l.inBase(types.ID(id)) {
				continue
			}
			if t.list[i].def != 0 {
				t.list[i].conflicted = true
			}
			t.list[i].def = types.ID(id)
		case n.Size != 0:
			t.list[i].conflicted = true
			l.pins = true
		default:
			t.list[i].stub = types.ID(id)
		}
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

// refs appends the nodes that id refers to: its Ref, an array's index type, its elements; void is left out. What a stub
// stands for is no reference.
func (l *linker) refs(id types.ID, buf []types.ID) []types.ID {
	n := &l.nodes[id]
	if n.Kind == types.KindStub {
		return buf
	}
	if n.Ref != 0 {
		buf = append(buf, n.Ref)
	}
	if n.Kind == types.KindArray && n.Aux != 0 {
		buf = append(buf, types.ID(n.Aux))
	}
	if n.Kind == types.KindEnum || n.Kind == types.KindEnum64 {
		return buf
	}
	for _, e := range l.g.Elems[n.First : n.First+n.Count] {
		if e.Ref != 0 {
			buf = append(buf, e.Ref)
		}
	}
	return buf
}

// role says how a shape takes part when types are told apart.
type role uint8

const (
	plain  role = iota // reaches no conflicted tag: the shape is the type
	inner              // anonymous: has a meaning only inside an anchor or a root
	anchor             // a definition, a typedef, or a big anonymous shape: has one meaning in a unit
	stub               // of a tag that varies
)

// bigInner is the number of varying shapes in an anonymous shape from which on it is an anchor of its own, so that
// programs stay small whatever the input.
const bigInner = 256

// findRoles finds the shapes that reach a conflicted tag, backwards from these tags.
func (l *linker) findRoles() {
	l.role = make([]role, len(l.nodes))
	conflicts := slices.ContainsFunc(l.tags.list, func(t tag) bool { return t.conflicted })
	if !conflicts {
		return
	}
	first, users := l.users()
	stubs, stubFirst := l.stubsOfTags()
	var work []types.ID
	vary := func(t int32) {
		l.tags.list[t].varies = true
		for _, s := range stubs[stubFirst[t]:stubFirst[t+1]] {
			l.role[s] = stub
			work = append(work, s)
		}
	}
	for i := range l.tags.list {
		if l.tags.list[i].conflicted {
			vary(int32(i))
		}
	}
	for len(work) > 0 {
		id := work[len(work)-1]
		work = work[:len(work)-1]
		for _, u := range users[first[id]:first[id+1]] {
			if l.role[u] != plain {
				continue
			}
			n := &l.nodes[u]
			l.role[u] = inner
			work = append(work, u)
			if n.Kind == types.KindTypedef || n.IsDefinition() {
				l.role[u] = anchor
			}
			if t := l.tags.of[u]; t >= 0 && !l.tags.list[t].varies && (l.weight[u] != 0 || l.inBase(u)) {
				vary(t)
			}
		}
	}
	// Definitions of conflicted tags that themselves reach none are anchors too: stubs lead to them.
	var big []uint16
	var refs []types.ID
	for id := range l.nodes {
		if t := l.tags.of[id]; t >= 0 && l.role[id] == plain && l.tags.list[t].varies {
			l.role[id] = anchor
		}
		if n := &l.nodes[id]; n.Kind == types.KindDeclTag && l.role[n.Ref] != plain {
			l.role[id] = inner
		}
		if l.role[id] != inner {
			continue
		}
		if big == nil {
			big = make([]uint16, len(l.nodes))
		}
		size := 1
		refs = l.refs(types.ID(id), refs[:0])
		for _, r := range refs {
			if l.role[r] == inner {
				size += int(big[r])
			}
			if size > bigInner {
				break
			}
		}
		if big[id] = uint16(min(size, bigInner)); size >= bigInner {
			l.role[id] = anchor
		}
	}
}

// users returns for every node the nodes that refer to it: those of id are list[first[id]:first[id+1]].
func (l *linker) users() (first []uint32, list []types.ID) {
	first = make([]uint32, len(l.nodes)+2)
	var refs []types.ID
	for id := range l.nodes {
		refs = l.refs(types.ID(id), refs[:0])
		for _, r := range refs {
			first[r+2]++
		}
	}
	for i := 2; i < len(first); i++ {
		first[i] += first[i-1]
	}
	list = make([]types.ID, first[len(first)-1])
	for id := range l.nodes {
		refs = l.refs(types.ID(id), refs[:0])
		for _, r := range refs {
			list[first[r+1]] = types.ID(id)
			first[r+1]++
		}
	}
	return first[:len(l.nodes)+1], list
}

// stubsOfTags lists the stubs of each tag, the pinned ones too.
func (l *linker) stubsOfTags() (list []types.ID, first []uint32) {
	first = make([]uint32, len(l.tags.list)+2)
	for id := range l.nodes {
		if l.nodes[id].Kind == types.KindStub && l.tags.of[id] >= 0 {
			first[l.tags.of[id]+2]++
		}
	}
	for i := 2; i < len(first); i++ {
		first[i] += first[i-1]
	}
	list = make([]types.ID, first[len(first)-1])
	for id := range l.nodes {
		if t := l.tags.of[id]; l.nodes[id].Kind == types.KindStub && t >= 0 {
			list[first[t+1]] = types.ID(id)
			first[t+1]++
		}
	}
	return list, first[:len(l.tags.list)+1]
}
