package resolve

import "github.com/rules-btf/rules_btf/internal/model/types"

// settled are the types of all environments, told apart.
type settled struct {
	*graph
	open func(v *view, root, slot types.ID) target
}

// findCommon chooses the definition of every varying tag in the common environment: the one that
// most units hold, ties by content. Tags that only the base defines have none.
func (r *resolver) findCommon() {
	r.common = make([]types.ID, len(r.tags))
	for _, id := range r.anchors {
		t := r.Tags.Of(id)
		if t < 0 || r.Weight[id] == 0 {
			continue
		}
		d := r.common[t]
		if d == 0 || r.Weight[id] > r.Weight[d] ||
			r.Weight[id] == r.Weight[d] && r.Nodes[id].Hash.Less(r.Nodes[d].Hash) {
			r.common[t] = id
		}
	}
}

// settle tells the types apart: first as if every open slot meant the common definition; then with
// open slots bound to what they mean by forwards, always to a type that some unit really holds.
func (r *resolver) settle() *settled {
	r.findCommon()
	r.findUsers()
	first := newGraph(r, func(_, slot types.ID) bool {
		_, ok := r.ofSplit(r.view, r.Tags.Of(slot))
		return ok
	})
	inFirst := func(tag int32) target {
		if d := r.common[tag]; d != 0 {
			return target(first.common[d])
		}
		return r.ofBase(tag)
	}
	openInFirst := func(_ *view, _, slot types.ID) target { return inFirst(r.Tags.Of(slot)) }
	first.connect(openInFirst, inFirst)
	first.match()
	first.refine()

	f := newForwards(r, first)
	second := newGraph(r, func(root, slot types.ID) bool {
		v, tag := r.view, r.Tags.Of(slot)
		_, ok := r.ofSplit(v, tag)
		return ok || f.meaning(v, root, slot) != first.colour(inFirst(tag))
	})
	bind := bindings(first, second)
	bound := func(colour types.Hash, tag int32) target {
		if to, ok := bind[colour]; ok {
			return target(to)
		}
		if t := r.ofBase(tag); first.colour(t) == colour {
			return t
		}
		return forward(tag)
	}
	open := func(v *view, root, slot types.ID) target {
		return bound(f.meaning(v, root, slot), r.Tags.Of(slot))
	}
	second.connect(open, func(tag int32) target {
		d := r.common[tag]
		if d == 0 {
			return r.ofBase(tag)
		}
		if own := second.common[d]; !second.real[own] {
			if to, ok := bind[first.colours[first.common[d]]]; ok {
				return target(to)
			}
		}
		return target(second.common[d])
	})
	second.match()
	second.refine()
	return &settled{second, open}
}

// bindings finds for every class of definitions of the first graph the node of the second that
// stands for it.
func bindings(first, second *graph) map[types.Hash]int32 {
	bind := map[types.Hash]int32{}
	var v *view
	for i := range second.nodes {
		n := &second.nodes[i]
		if !second.isDefinition(int32(i)) || !second.exists(i) {
			continue
		}
		in := first.common[n.anchor]
		if n.env >= 0 {
			if v == nil || v.env != n.env {
				v = first.enter(n.env)
			}
			in = first.node(v, n.anchor)
		}
		colour := first.colours[in]
		if old, ok := bind[colour]; !ok || second.before(n, &second.nodes[old]) {
			bind[colour] = int32(i)
		}
	}
	return bind
}
