package resolve

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/types"
)

// variant is a varying shape with what its varying references are.
type variant struct {
	colour types.Hash
	node   types.ID
	based  uint32 // the type of the base that it is, 0 for none
	arg    uint32 // the references in order, as indexes of variants, in variants.args
	args   uint32
	weight uint64 // of functions and variables: how many units hold it
	linked uint64 // of these, how many were linked before
	root   bool   // a unit holds it for itself
}

// variants are the types that varying shapes are, each once.
type variants struct {
	r      *resolver
	g      *settled
	list   []variant
	args   []uint32
	index  map[types.Hash]uint32
	work   []int32 // nodes of the graph whose references are still to be made
	frozen bool
}

// none is what lookups in frozen variants return for a type that no unit holds.
const none = ^uint32(0)

// find returns the variant of a colour, and whether it is new.
func (t *variants) find(colour types.Hash, node types.ID) (i uint32, fresh bool) {
	i, ok := t.index[colour]
	switch {
	case ok:
		return i, false
	case t.frozen:
		return none, false
	}
	i = uint32(len(t.list))
	t.index[colour] = i
	t.list = append(t.list, variant{colour: colour, node: node})
	return i, true
}

// of returns the variant of what a slot means.
func (t *variants) of(to target) uint32 {
	if to >= 0 {
		i, fresh := t.find(t.g.colours[to], t.g.nodes[to].anchor)
		if fresh {
			t.list[i].based = t.g.based[to]
			if t.list[i].based == 0 || !t.g.isDefinition(int32(to)) {
				t.work = append(t.work, int32(to))
			}
		}
		return i
	}
	tag, _ := to.tag()
	i, fresh := t.find(t.g.outside(to), t.r.anyStub(tag))
	if fresh {
		t.list[i].based = t.r.baseID(to)
	}
	return i
}

// anyStub returns a stub of a tag, to stand for its declaration.
func (r *resolver) anyStub(tag int32) types.ID {
	if s := r.Tags.List[tag].Stub; s != 0 {
		return s
	}
	return r.Tags.Stubs(tag, nil)[0]
}

// finish makes the references of the nodes that were found.
func (t *variants) finish() {
	for len(t.work) > 0 {
		n := t.work[len(t.work)-1]
		t.work = t.work[:len(t.work)-1]
		i, _ := t.find(t.g.colours[n], 0)
		_, targets := t.g.slots(int(n))
		t.fill(i, targets)
	}
}

// fill sets the references of variant i, whose slots mean targets.
func (t *variants) fill(i uint32, targets []target) {
	var args []uint32
	for _, c := range t.r.Graph.Refs(t.list[i].node, nil) {
		switch t.r.roles[c] {
		case fixed:
		case inner:
			n := len(t.r.slotsOf(c))
			args = append(args, t.inner(c, targets[:n]))
			targets = targets[n:]
		default:
			args = append(args, t.of(targets[0]))
			targets = targets[1:]
		}
	}
	v := &t.list[i]
	v.arg, v.args = uint32(len(t.args)), uint32(len(args))
	t.args = append(t.args, args...)
}

// inner returns the variant of a shape that is no anchor, whose slots mean targets.
func (t *variants) inner(id types.ID, targets []target) uint32 {
	h := types.Start(types.KindVoid, 1, 0, t.r.shape(id), types.Hash{})
	for _, to := range targets {
		h.Elem(types.Hash{}, t.g.colour(to), 0)
	}
	i, fresh := t.find(h.Sum(false), id)
	if fresh {
		t.fill(i, targets)
	}
	return i
}

// in returns the variant of a varying shape that the environment which v shows holds.
func (t *variants) in(v *view, id types.ID) uint32 {
	if t.r.roles[id] == anchor && v.holds(id) {
		return t.of(target(t.g.node(v, id)))
	}
	if t.r.roles[id] == stub {
		if d := t.r.anchorOf(v, id); d != 0 {
			return t.of(target(t.g.node(v, d)))
		}
		return t.of(forward(t.r.Tags.Of(id)))
	}
	var targets []target
	for _, s := range t.r.slotsOf(id) {
		targets = append(targets, t.g.meaning(v, id, s, t.g.open))
	}
	return t.inner(id, targets)
}

// makeVariants makes every type of the varying shapes that some unit holds.
func (r *resolver) makeVariants(g *settled) (*variants, []Attachment) {
	t := &variants{r: r, g: g, index: map[types.Hash]uint32{}}
	for i := range g.nodes {
		if g.exists(i) && !g.copied(&g.nodes[i]) {
			t.list[t.of(target(i))].root = true
		}
	}
	var attachments []Attachment
	for e := range r.list {
		v := g.enter(int32(e))
		for _, u := range r.list[e].units {
			unit := &r.Units[u]
			for _, id := range r.roots[u] {
				k := &t.list[t.in(v, id)]
				k.weight += uint64(unit.Count)
				if unit.Linked {
					k.linked += uint64(unit.Count)
				}
				kind := r.Kinds[id]
				k.root = k.root || kind != types.KindFunc && kind != types.KindVar
			}
			for _, id := range r.attached[u] {
				a := Attachment{Node: id}
				for _, c := range r.Graph.Refs(id, nil) {
					if r.roles[c] != fixed {
						a.refs = append(a.refs, t.in(v, c))
					}
				}
				attachments = append(attachments, a)
			}
		}
	}
	t.finish()
	t.frozen = true
	if r.base != nil {
		t.matchInner()
	}
	return t, attachments
}

// matchInner finds the anonymous types that the base has: those whose references are the base's
// and stand in a type of the base of the same shape. A reference is an anchor, which has been
// matched, or a part of the shape.
func (t *variants) matchInner() {
	done := make([]bool, len(t.list))
	var match func(i uint32) uint32
	match = func(i uint32) uint32 {
		v := &t.list[i]
		if t.r.roles[v.node] != inner || done[i] {
			return v.based
		}
		done[i] = true
		var refs []uint32
		args := t.args[v.arg : v.arg+v.args]
		for _, c := range t.r.leading(v.node) {
			id := uint32(0)
			if t.r.roles[c] == fixed {
				id = t.r.fixedBaseID(c)
			} else {
				id = match(args[0])
				args = args[1:]
			}
			if id == 0 {
				return 0
			}
			refs = append(refs, id)
		}
		v.based = t.r.findType(t.r.shape(v.node), refs)
		return v.based
	}
	for i := range t.list {
		match(uint32(i))
	}
}

// leading returns the references of a shape that base.Base.Refs tells of too.
func (r *resolver) leading(shape types.ID) []types.ID {
	if r.leads == nil {
		r.leads = r.Graph.Leads()
	}
	return slices.DeleteFunc(r.Graph.Refs(shape, nil), func(c types.ID) bool { return !r.leads[c] })
}

// findType returns the base's type of a shape that refers to just these types, 0 if there is none.
func (r *resolver) findType(shape types.Hash, refs []uint32) uint32 {
	n := 0
	for id := range r.base.All(shape) {
		if slices.Equal(r.base.Refs(id, nil), refs) {
			return id
		}
		if n++; n == maxAlike {
			break
		}
	}
	return 0
}

// fixedBaseID returns the id in the base of what a fixed shape is, 0 if the base does not have it.
func (r *resolver) fixedBaseID(id types.ID) uint32 {
	n := &r.Nodes[id]
	if n.Kind == types.KindStub {
		t := &r.tags[r.Tags.Of(id)]
		if t.def == 0 {
			if t.definition != 0 {
				return t.definition
			}
			return t.declaration
		}
		return r.base.Find(r.Nodes[t.def].Hash)
	}
	return r.base.Find(n.Hash)
}
