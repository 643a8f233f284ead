package resolve

import (
	"cmp"
	"slices"

	"github.com/rules-btf/rules_btf/internal/model/types"
)

// variant is a varying shape with the meanings of its varying references.
type variant struct {
	colour types.Hash
	weight uint64 // of functions and variables: how many units hold it
	node   types.ID
	based  uint32 // the id of the base type that it equals, or 0
	first  uint32 // its varying references, in order, are variants.refs[first:end]
	end    uint32
	linked bool // of functions and variables: BTF that is already linked holds it
	root   bool // a unit holds it directly
}

// variants has the types of varying shapes, without duplicates. There may be as many as shapes.
type variants struct {
	chunks [][]variant // chunkSize in each, fewer in the last
	begin  int         // the Type of the first: the number of nodes
	len    int         // how many variants
	refs   []Type      // see variant.first
}

// maker makes variants.
type maker struct {
	*variants
	r      *resolver
	g      *graph
	index  []Type     // open addressing over colours; 0: free
	work   []int32    // nodes of the graph whose references are still to be made
	nodes  []types.ID // a buffer of fill
	found  []Type     // a buffer of fill
	frozen bool
}

// chunkSize is how many variants are allocated at a time. They don't move when more are added.
const chunkSize = 1 << 12

// at returns the variant with the number k, or nil if k is the type of a fixed shape.
func (t *variants) at(k Type) *variant {
	i := int(k) - t.begin
	if i < 0 {
		return nil
	}
	return &t.chunks[i/chunkSize][i%chunkSize]
}

// find returns the variant that has a given colour, and adds the variant if it is new. If the
// variants are frozen, it returns 0 for a type that no unit holds.
func (t *maker) find(colour types.Hash, node types.ID) (k Type, fresh *variant) {
	if !t.frozen && 2*t.len >= len(t.index) {
		t.growIndex()
	}
	if len(t.index) == 0 {
		return 0, nil
	}
	slot := t.slot(colour)
	if *slot != 0 || t.frozen {
		return *slot, nil
	}
	k = Type(t.begin + t.len)
	if t.len%chunkSize == 0 {
		t.chunks = append(t.chunks, make([]variant, 0, chunkSize))
	}
	last := &t.chunks[t.len/chunkSize]
	*last = append(*last, variant{colour: colour, node: node})
	t.len++
	*slot = k
	return k, t.at(k)
}

// slot returns the slot in the index that holds the variant of a colour, or the free slot for it.
func (t *maker) slot(colour types.Hash) *Type {
	mask := uint64(len(t.index) - 1)
	for i := colour.A & mask; ; i = (i + 1) & mask {
		if k := t.index[i]; k == 0 || t.at(k).colour == colour {
			return &t.index[i]
		}
	}
}

func (t *maker) growIndex() {
	t.index = make([]Type, max(64, 2*len(t.index)))
	for i := range t.len {
		k := Type(t.begin + i)
		*t.slot(t.at(k).colour) = k
	}
}

func (t *variants) refsOf(v *variant) []Type { return t.refs[v.first:v.end:v.end] }

// typeOf returns the variant that a target, the meaning of a slot, resolves to.
func (t *maker) typeOf(to target) Type {
	if to < 0 {
		tag, _ := to.tag()
		k, fresh := t.find(t.g.outsideColour(to), t.r.Shapes.Tags.Stubs(tag, nil)[0])
		if fresh != nil {
			fresh.based = t.r.baseID(to)
		}
		return k
	}
	k, fresh := t.find(t.g.colours[to], t.g.nodes[to].anchor)
	if fresh != nil {
		fresh.based = t.g.based[to]
		if fresh.based == 0 || !t.g.isDefinition(int32(to)) {
			t.work = append(t.work, int32(to))
		}
	}
	return k
}

// finish sets the references of the variants whose nodes were found.
func (t *maker) finish() {
	for len(t.work) > 0 {
		n := t.work[len(t.work)-1]
		t.work = t.work[:len(t.work)-1]
		_, targets := t.g.slots(int(n))
		t.fill(*t.slot(t.g.colours[n]), targets)
	}
}

// fill sets the references of variant k, whose slots mean the given targets.
func (t *maker) fill(k Type, targets []target) {
	firstNode, firstFound := len(t.nodes), len(t.found) // fill calls itself
	t.nodes = t.r.Shapes.Graph.Refs(t.at(k).node, t.nodes)
	for _, c := range t.nodes[firstNode:] {
		switch t.r.roles[c] {
		case fixed:
		case inner:
			n := len(t.r.slotsOf(c))
			t.found = append(t.found, t.innerVariant(c, targets[:n]))
			targets = targets[n:]
		default:
			t.found = append(t.found, t.typeOf(targets[0]))
			targets = targets[1:]
		}
	}
	v := t.at(k)
	v.first = uint32(len(t.refs))
	t.refs = append(t.refs, t.found[firstFound:]...)
	v.end = uint32(len(t.refs))
	t.nodes, t.found = t.nodes[:firstNode], t.found[:firstFound]
}

// innerVariant returns the variant of a non-anchor shape whose slots mean the given targets. All
// variants with the same shape, whose targets have the same colours, are one type.
// Rule: equal types: anonymous types that lead to a tag with several definitions.
func (t *maker) innerVariant(id types.ID, targets []target) Type {
	h := types.Start(types.KindVoid, 1, 0, t.r.PlainShape(id), types.Hash{})
	for _, to := range targets {
		h.Elem(types.Hash{}, t.g.colour(to), 0)
	}
	k, fresh := t.find(h.Sum(false), id)
	if fresh != nil {
		t.fill(k, targets)
	}
	return k
}

func (t *maker) in(v *view, id types.ID) Type {
	if t.r.roles[id] == anchor && v.holds(id) {
		return t.typeOf(target(t.g.node(v, id)))
	}
	if t.r.roles[id] == stub {
		if d := t.r.anchorOf(v, id); d != 0 {
			return t.typeOf(target(t.g.node(v, d)))
		}
		return t.typeOf(forward(t.r.Shapes.Tags.Of(id)))
	}
	var targets []target
	for _, s := range t.r.slotsOf(id) {
		targets = append(targets, t.g.meaning(v, id, s))
	}
	return t.innerVariant(id, targets)
}

// makeVariants fills in c.variants, c.candidates and c.attached.
func (r *resolver) makeVariants(c *Candidates, g *graph) *maker {
	t := &maker{variants: &c.variants, r: r, g: g}
	c.candidates = make([][]Type, len(r.Held.Units))
	for i := range g.nodes {
		if g.exists(i) && !g.copied(&g.nodes[i]) {
			t.at(t.typeOf(target(i))).root = true
		}
	}
	for e := range r.list {
		v := g.enter(int32(e))
		for _, u := range r.list[e].units {
			unit := &r.Held.Units[u]
			c.candidates[u] = make([]Type, 0, len(r.roots[u]))
			for _, id := range r.roots[u] {
				typ := t.in(v, id)
				k := t.at(typ)
				k.weight += uint64(unit.Count)
				k.linked = k.linked || unit.FromBTF && unit.Count > 0
				if kind := r.Shapes.Kinds[id]; kind == types.KindFunc || kind == types.KindVar {
					c.candidates[u] = append(c.candidates[u], typ)
				} else {
					k.root = true
				}
			}
			for _, id := range r.attached[u] {
				a := attachment{node: id}
				for _, ref := range r.Shapes.Graph.Refs(id, nil) {
					if r.roles[ref] != fixed {
						a.refs = append(a.refs, t.in(v, ref))
					}
				}
				c.attached = append(c.attached, a)
			}
		}
	}
	t.finish()
	t.frozen = true
	if r.Base != nil {
		t.matchInner()
	}
	return t
}

// matchInner finds the anonymous types that the base also has, with the same shape and references.
// Each reference leads to an anchor, which has already been matched, or to a part of the shape.
func (t *maker) matchInner() {
	done := make([]bool, t.len)
	var match func(k Type) uint32
	match = func(k Type) uint32 {
		v, i := t.at(k), int(k)-t.begin
		if t.r.roles[v.node] != inner || done[i] {
			return v.based
		}
		done[i] = true
		var ids []uint32
		refs := t.refsOf(v)
		for _, c := range t.r.refsToTags(v.node, nil) {
			id := uint32(0)
			if t.r.roles[c] == fixed {
				id = t.r.fixedBaseID(c)
			} else {
				id = match(refs[0])
				refs = refs[1:]
			}
			if id == 0 {
				return 0
			}
			ids = append(ids, id)
		}
		for id := range t.r.baseTypes(t.r.PlainShape(v.node), maxSameShape) {
			if slices.Equal(t.r.Base.Refs(id, nil), ids) {
				v.based = id
				break
			}
		}
		return v.based
	}
	for i := range t.len {
		match(Type(t.begin + i))
	}
}

// refsToTags appends a shape's references, but only those to tags or to types that lead to one.
func (r *resolver) refsToTags(shape types.ID, into []types.ID) []types.ID {
	if r.reachTags == nil {
		r.reachTags = r.Shapes.Graph.Leads()
	}
	first := len(into)
	into = r.Shapes.Graph.Refs(shape, into)
	kept := into[:first]
	for _, c := range into[first:] {
		if r.reachTags[c] {
			kept = append(kept, c)
		}
	}
	return kept
}

// fixedBaseID returns the id that a fixed shape's type has in the base, or 0 if it isn't there.
// Rule: forward declarations: of a tag that isn't conflicted. In the base.
func (t *Types) fixedBaseID(id types.ID) uint32 {
	n := &t.Shapes.Nodes[id]
	if n.Kind == types.KindStub {
		tag := &t.tags[t.Shapes.Tags.Of(id)]
		if tag.def == 0 {
			return cmp.Or(tag.definition, tag.declaration)
		}
		n = &t.Shapes.Nodes[tag.def]
	}
	return t.Base.Find(n.Hash)
}
