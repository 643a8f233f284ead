package decide

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/resolve"
	"github.com/rules-btf/rules_btf/internal/types"
)

// looseHashes are hashes of shapes that are equal for types that the consistency of prototypes does
// not tell apart: const counts nowhere; tags, typedefs and enums are their kind and name; base
// types are name, size and encoding; arrays are count and element; prototypes are their types,
// parameter names do not count (dwarves, funcs__match).
type looseHashes struct {
	*resolve.Types
	known map[types.ID]types.Hash
}

// hash returns the loose hash of a shape.
func (l *looseHashes) hash(id types.ID) types.Hash {
	if l.known == nil {
		l.known = map[types.ID]types.Hash{}
	}
	if id == 0 || l.known[id] != (types.Hash{}) {
		return l.known[id]
	}
	list := []types.ID{id}
	pending := types.Hash{A: 1}
	l.known[id] = pending
	var refs []types.ID
	for i := 0; i < len(list); i++ {
		refs = l.refs(list[i], refs[:0])
		for _, r := range refs {
			if l.known[r] == (types.Hash{}) {
				l.known[r] = pending
				list = append(list, r)
			}
		}
	}
	slices.Sort(list) // children come first in the graph
	for _, id := range list {
		l.known[id] = l.content(id)
	}
	return l.known[id]
}

// refs appends the types that count for the loose hash of a type.
func (l *looseHashes) refs(id types.ID, buf []types.ID) []types.ID {
	n := &l.Nodes[id]
	switch n.Kind {
	case types.KindConst, types.KindPtr, types.KindVolatile, types.KindRestrict, types.KindTypeTag,
		types.KindArray:
		if n.Ref != 0 {
			buf = append(buf, n.Ref)
		}
	case types.KindFuncProto:
		return l.Graph.Refs(id, buf)
	}
	return buf
}

func (l *looseHashes) content(id types.ID) types.Hash {
	n := &l.Nodes[id]
	var size, aux uint32
	var ref types.Hash
	name := l.Graph.Strs.Hash(n.Name)
	switch n.Kind {
	case types.KindConst:
		return l.known[n.Ref]
	case types.KindInt, types.KindFloat:
		size, aux = n.Size, n.Aux
	case types.KindPtr, types.KindVolatile, types.KindRestrict, types.KindTypeTag, types.KindFuncProto:
		name, ref = types.Hash{}, l.known[n.Ref]
	case types.KindArray:
		size, ref = n.Size, l.known[n.Ref]
	case types.KindStub:
		aux = n.Aux
	}
	h := types.Start(n.Kind, size, aux, name, ref)
	if n.Kind == types.KindFuncProto {
		for _, e := range l.Graph.ElemsOf(n) {
			h.Elem(types.Hash{}, l.known[e.Ref], 0)
		}
	}
	return h.Sum(false)
}
