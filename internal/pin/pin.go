// Package pin makes pins: hashes by which the references of a unit tell the definitions of a tag
// apart where the unit has several.
//
// A pin is a function of what the definition says, and of nothing else: not of the order of types,
// and not of what else the unit holds. So equal pins mean equal definitions, in whatever units.
package pin

import (
	"github.com/rules-btf/rules_btf/internal/types"
)

// Provisional is the pin of a reference to a definition of that number, which is any that no other
// definition has. The reference is in the scope of that number: see Import.
func Provisional(definition uint64, scope int) types.Hash {
	return types.Hash{A: definition, B: uint64(scope)}
}

// Import adds every node of from to another graph, with pins where they are needed, and returns the
// IDs that the nodes have there, indexed by their ID in from.
//
// The stubs of from have provisional pins: each has its definition as Ref, and a number and a scope.
// A stub without Ref means whatever its tag means in the unit. Scopes are numbered from 0; those of
// a base and the split BTF on it are 0 and 1. defined lists the definitions of tags that each scope
// adds to those of the scopes before it. A plain stub in that list is a meaning of its own: a
// declaration that does not mean the definition.
//
// Where the definitions of a tag, down to and including a scope, are all equal, references to it in
// that scope become plain stubs. All others get pins. References to typedefs always do.
func Import(to, from *types.Graph, defined [][]types.ID) ([]types.ID, error) {
	budget := budget
	p := &pinner{g: from, several: map[tag]uint64{}}
	for scope := range defined {
		if err := p.findSeveral(defined[:scope+1], &budget); err != nil {
			return nil, err
		}
	}
	pinned, err := p.contents(p.pinned).classes(&budget)
	if err != nil {
		return nil, err
	}
	pins, err := pinned.hashes(&budget)
	if err != nil {
		return nil, err
	}
	return p.emit(to, pins)
}

// budget bounds the work, in nodes and references looked at. A kernel whose BTF holds a thousand
// types several times needs about a million.
const budget = 1 << 27

type pinner struct {
	g *types.Graph
	// for tags with different definitions, the first scope that has them
	several map[tag]uint64
}

type tag struct {
	space types.Tag
	name  types.Str
}

// tagOf returns the tag of a stub or a definition.
func tagOf(n *types.Node) tag {
	if n.Kind == types.KindStub {
		return tag{types.Tag(n.Aux), n.Name}
	}
	return tag{types.TagOf(n.Kind), n.Name}
}

// findSeveral finds the tags that have different definitions in the last scope, and didn't in those
// before it: references to all that have several are followed, to see whether they are equal.
func (p *pinner) findSeveral(defined [][]types.ID, budget *int) error {
	last := uint64(len(defined) - 1)
	first := map[tag]types.ID{}
	candidates := map[tag]bool{}
	for _, list := range defined {
		for _, id := range list {
			t := tagOf(p.g.Node(id))
			if f, ok := first[t]; !ok {
				first[t] = id
			} else if _, known := p.several[t]; f != id && !known {
				candidates[t] = true
			}
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	c := p.contents(func(n *types.Node) bool {
		return p.pinned(n) || n.Ref != 0 && p.g.Pin(n).B == last && candidates[tagOf(n)]
	})
	classes, err := c.classes(budget)
	if err != nil {
		return err
	}
	for _, list := range defined {
		for _, id := range list {
			if t := tagOf(p.g.Node(id)); candidates[t] && !classes.same(first[t], id) {
				p.several[t] = last
			}
		}
	}
	return nil
}

// pinned tells whether stub n gets a pin.
func (p *pinner) pinned(n *types.Node) bool {
	if n.Ref == 0 || n.Aux == uint32(types.TagTypedef) {
		return n.Ref != 0
	}
	scope, ok := p.several[tagOf(n)]
	return ok && p.g.Pin(n).B >= scope
}

// emit adds the nodes to a graph.
func (p *pinner) emit(to *types.Graph, pins *pins) ([]types.ID, error) {
	strs := make([]types.Str, p.g.Strs.Len())
	for i := 1; i < len(strs); i++ {
		s := types.Str(i)
		strs[i] = to.Strs.InternHashed(p.g.Strs.Bytes(s), p.g.Strs.Hash(s))
	}
	ids := make([]types.ID, len(p.g.Nodes))
	var elems []types.Elem
	var stubs []types.ID
	for i := 1; i < len(ids); i++ {
		n := p.g.Nodes[i]
		if n.Kind == types.KindStub {
			if p.pinned(&n) {
				stubs = append(stubs, types.ID(i))
				ids[i] = to.PinnedStub(types.Tag(n.Aux), strs[n.Name], pins.of(n.Ref))
			} else {
				ids[i] = to.Stub(types.Tag(n.Aux), strs[n.Name])
			}
			continue
		}
		elems = elems[:0]
		for _, e := range p.g.ElemsOf(&n) {
			elems = append(elems, types.Elem{Name: strs[e.Name], Ref: ids[e.Ref], Val: e.Val})
		}
		n.Name, n.Ref = strs[n.Name], ids[n.Ref]
		ids[i] = to.Add(n, elems)
	}
	for _, id := range stubs {
		if err := to.Define(ids[id], ids[p.g.Node(id).Ref]); err != nil {
			return nil, err
		}
	}
	return ids, nil
}
