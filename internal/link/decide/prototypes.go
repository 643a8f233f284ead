package decide

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// looseHashes computes hashes of shapes: two hashes are equal if the types count as equal when
// prototypes are compared (dwarves, funcs__match). const is ignored everywhere. Tags, typedefs and
// enums are compared by kind and name; base types by name, size and encoding; arrays by count and
// element; prototypes by their types, without parameter names.
// Rule: skipped: inconsistent prototype. Which types count as equal. Source: pahole types__match.
type looseHashes struct {
	shapes *survey.Shapes
	known  map[types.ID]types.Hash
}

func (l *looseHashes) hash(id types.ID) types.Hash {
	if l.known == nil {
		l.known = map[types.ID]types.Hash{0: {}}
	}
	if h, ok := l.known[id]; ok {
		return h
	}
	list := []types.ID{id}
	l.known[id] = types.Hash{}
	var refs []types.ID
	for i := 0; i < len(list); i++ {
		if !deep(l.shapes.Kinds[list[i]]) {
			continue
		}
		refs = l.shapes.Graph.Refs(list[i], refs[:0])
		for _, r := range refs {
			if _, ok := l.known[r]; !ok {
				l.known[r] = types.Hash{}
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

// deep reports whether types of this kind are compared by the types to which they refer.
func deep(k types.Kind) bool {
	switch k {
	case types.KindConst, types.KindPtr, types.KindVolatile, types.KindRestrict, types.KindTypeTag,
		types.KindArray, types.KindFuncProto:
		return true
	}
	return false
}

// content returns the loose hash of a type, from the known hashes of the types that it refers to.
func (l *looseHashes) content(id types.ID) types.Hash {
	n := &l.shapes.Nodes[id]
	name, ref := l.shapes.Graph.Strs.Hash(n.Name), types.Hash{}
	if deep(n.Kind) {
		name, ref = types.Hash{}, l.known[n.Ref]
	}
	var size, aux uint32
	switch n.Kind {
	case types.KindConst:
		return ref
	case types.KindInt, types.KindFloat:
		size, aux = n.Size, n.Aux
	case types.KindArray:
		size = n.Size
	case types.KindStub:
		aux = n.Aux
	}
	h := types.Start(n.Kind, size, aux, name, ref)
	if n.Kind == types.KindFuncProto {
		for _, e := range l.shapes.Graph.ElemsOf(n) {
			h.Elem(types.Hash{}, l.known[e.Ref], 0)
		}
	}
	return h.Sum(false)
}
