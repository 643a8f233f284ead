package link

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/types"
)

// looseHash returns a hash that is equal for types that the consistency of prototypes doesn't tell
// apart: const counts nowhere; tags, typedefs and enums are their kind and name; base types are
// name, size and encoding; arrays are count and element; prototypes are their types, parameter
// names don't count.
func (l *linker) looseHash(id types.ID) types.Hash {
	if l.loose == nil {
		l.loose = map[types.ID]types.Hash{}
	}
	if id == 0 || l.loose[id] != (types.Hash{}) {
		return l.loose[id]
	}
	list := []types.ID{id}
	pending := types.Hash{A: 1}
	l.loose[id] = pending
	var refs []types.ID
	for i := 0; i < len(list); i++ {
		refs = l.looseRefs(list[i], refs[:0])
		for _, r := range refs {
			if l.loose[r] == (types.Hash{}) {
				l.loose[r] = pending
				list = append(list, r)
			}
		}
	}
	slices.Sort(list) // children come first in the graph
	for _, id := range list {
		l.loose[id] = l.looseContent(id)
	}
	return l.loose[id]
}

// looseRefs appends the types that count for the loose hash of a type.
func (l *linker) looseRefs(id types.ID, buf []types.ID) []types.ID {
	n := &l.nodes[id]
	switch n.Kind {
	case types.KindConst, types.KindPtr, types.KindVolatile, types.KindRestrict, types.KindTypeTag, types.KindArray:
		if n.Ref != 0 {
			buf = append(buf, n.Ref)
		}
	case types.KindFuncProto:
		return l.g.Refs(id, buf)
	}
	return buf
}

func (l *linker) looseContent(id types.ID) types.Hash {
	n := &l.nodes[id]
	var size, aux uint32
	var ref types.Hash
	name := l.g.Strs.Hash(n.Name)
	switch n.Kind {
	case types.KindConst:
		return l.loose[n.Ref]
	case types.KindInt, types.KindFloat:
		size, aux = n.Size, n.Aux
	case types.KindPtr, types.KindVolatile, types.KindRestrict, types.KindTypeTag, types.KindFuncProto:
		name, ref = types.Hash{}, l.loose[n.Ref]
	case types.KindArray:
		size, ref = n.Size, l.loose[n.Ref]
	case types.KindStub:
		aux = n.Aux
	}
	h := types.Start(n.Kind, size, aux, name, ref)
	if n.Kind == types.KindFuncProto {
		for _, e := range l.g.ElemsOf(n) {
			h.Elem(types.Hash{}, l.loose[e.Ref], 0)
		}
	}
	return h.Sum(false)
}
