package resolve

import (
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/refine"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// graph has a node for each type that an anchor resolves to. Most environments agree about most
// anchors. So there is a common environment. In it, every tag means the definition that most units
// hold, except in slots that most units leave open (usual), and each anchor has one node. The other
// environments have their own nodes only for anchors that resolve to different types there.
type graph struct {
	r *resolver
	*meanings
	nodes   []node
	targets []target
	common  []int32     // by anchor: its node in the common environment + 1; see commonNode
	own     [][]ownNode // by environment
	real    []bool      // by node of the common environment: some environment shares it
	based   []uint32    // by node: the id of the base type that it equals, or 0
	colours []types.Hash
	pinned  map[types.ID]int32 // see pinnedNode
}

type node struct {
	anchor types.ID
	env    int32 // -1: the common environment
	first  uint32
}

// ownNode is an environment's own node for an anchor, in place of the common environment's node.
type ownNode struct {
	anchor types.ID
	node   int32
}

// target is the meaning of a slot. It is a node or, if negative, a tag that means no unit's
// definition: the tag is only declared, or the base defines it.
type target int32

// forward returns the target for a tag that is only declared.
func forward(tag int32) target { return target(^(tag << 1)) }

// ofBase returns the target for the base's definition of a tag or, if there is none, forward(tag).
func (r *resolver) ofBase(tag int32) target {
	if r.tags[tag].definition == 0 {
		return forward(tag)
	}
	return target(^(tag<<1 | 1))
}

// tag returns the tag of a target that isn't a node, and whether the base's definition is meant.
func (t target) tag() (tag int32, ofBase bool) { return int32(^t) >> 1, ^t&1 != 0 }

// baseID returns the base's type id for a target that isn't a node, or 0 if the base has none.
func (r *resolver) baseID(t target) uint32 {
	tag, ofBase := t.tag()
	if ofBase {
		return r.tags[tag].definition
	}
	return r.tags[tag].declaration
}

// node returns the node of an anchor that the environment holds.
func (g *graph) node(v *view, id types.ID) int32 {
	if n := v.node[id]; n >= 0 {
		return n
	}
	return g.commonNode(id)
}

// commonNode returns an anchor's node in the common environment, or -1 for uncommon definitions.
func (g *graph) commonNode(id types.ID) int32 { return g.common[id] - 1 }

func (g *graph) slots(i int) ([]types.ID, []target) {
	n := &g.nodes[i]
	s := g.r.slotsOf(n.anchor)
	return s, g.targets[n.first : int(n.first)+len(s)]
}

func (g *graph) isDefinition(i int32) bool { return g.r.Shapes.Tags.Of(g.nodes[i].anchor) >= 0 }

func (g *graph) copied(n *node) bool { return n.env >= 0 && g.r.list[n.env].copied }

// exists reports whether a node belongs to some environment.
func (g *graph) exists(i int) bool { return g.nodes[i].env >= 0 || g.real[i] }

func (g *graph) add(id types.ID, env int32) int32 {
	g.nodes = append(g.nodes, node{id, env, uint32(len(g.targets))})
	for range g.r.slotsOf(id) {
		g.targets = append(g.targets, 0)
	}
	return int32(len(g.nodes) - 1)
}

// newGraph makes the nodes. docs/glossary.md explains anchors, slots and stubs. An environment has
// its own node for an anchor in four cases:
//
//   - the anchor is a definition, but not the common one of its tag;
//   - the anchor has pinned stubs;
//   - the anchor has a slot that is open in this environment and means something other than in the
//     common environment, or that is open only in the common environment;
//   - the anchor leads to another anchor for which the environment has its own node.
func newGraph(r *resolver, m *meanings) *graph {
	g := &graph{r: r, meanings: m, common: make([]int32, len(r.Shapes.Nodes)),
		own: make([][]ownNode, len(r.list))}
	m.g = g
	for _, id := range r.anchors {
		if t := r.Shapes.Tags.Of(id); t < 0 || r.common[t] == id {
			g.common[id] = g.add(id, -1) + 1
		}
	}
	g.real = make([]bool, len(g.nodes))
	g.findUsual()
	for e := range r.list {
		g.addEnvironment(int32(e))
	}
	return g
}

func (g *graph) addEnvironment(e int32) {
	r := g.r
	v := r.enter(e)
	var work []types.ID
	mark := func(id types.ID) {
		if v.node[id] < 0 {
			v.node[id] = g.add(id, e)
			g.own[e] = append(g.own[e], ownNode{id, v.node[id]})
			work = append(work, id)
		}
	}
	for _, id := range r.list[e].anchors {
		if g.commonNode(id) < 0 || r.list[e].copied {
			mark(id)
			continue
		}
		first := g.nodes[g.commonNode(id)].first
		for j, s := range r.slotsOf(id) {
			usual := g.usual != nil && g.usual[int(first)+j]
			open := r.anchorOf(v, s) == 0
			if r.isPinned(s) || open && g.differs(v, id, s, usual) || !open && usual {
				mark(id)
				break
			}
		}
	}
	for len(work) > 0 {
		id := work[len(work)-1]
		work = work[:len(work)-1]
		for u := range r.users.ofAnchor.Of(id) {
			if v.holds(u) {
				mark(u)
			}
		}
		if t := r.Shapes.Tags.Of(id); t >= 0 && v.definition(t) == id {
			for u := range r.users.ofTag.Of(t) {
				if v.holds(u) {
					mark(u)
				}
			}
		}
	}
	for _, id := range r.list[e].anchors {
		if v.node[id] < 0 {
			g.real[g.commonNode(id)] = true
		}
	}
}

// enter makes the view show an environment and its nodes.
func (g *graph) enter(e int32) *view {
	if v := g.r.view; v.of == g && v.env == e {
		return v // Units.In is called for one shape after the other
	}
	v := g.r.enter(e)
	for _, d := range g.own[e] {
		v.node[d.anchor] = d.node
	}
	v.of = g
	return v
}

// tellApart finds which nodes are the same type.
func (g *graph) tellApart() {
	g.connect()
	g.match()
	g.refine()
}

// connect fills in the meanings of the slots of all nodes.
func (g *graph) connect() {
	var v *view
	for i := range g.nodes {
		n := &g.nodes[i]
		if n.env >= 0 && (v == nil || v.env != n.env) {
			v = g.enter(n.env)
		}
		slots, targets := g.slots(i)
		for j, s := range slots {
			switch {
			case n.env >= 0:
				targets[j] = g.meaning(v, n.anchor, s)
			case g.r.roles[s] == anchor:
				targets[j] = target(g.commonNode(s))
			case g.usual != nil && g.usual[int(n.first)+j]:
				tag := g.r.Shapes.Tags.Of(s)
				targets[j] = g.typeOf(g.forwards.usual(n.anchor, tag), tag)
			default:
				targets[j] = g.inCommon(g.r.Shapes.Tags.Of(s))
			}
		}
	}
}

func (g *graph) meaning(v *view, root, slot types.ID) target {
	r := g.r
	if id := r.anchorOf(v, slot); id != 0 {
		return target(g.node(v, id))
	}
	if r.isPinned(slot) {
		if to, ok := g.pinnedNode(r.Shapes.Nodes[slot].Ref); ok {
			return target(to)
		}
	}
	if to, ok := r.ofSplit(v, r.Shapes.Tags.Of(slot)); ok {
		return to
	}
	return g.open(v, root, slot)
}

// pinnedNode returns the node for a definition that BTF pins but does not hold, for example one in
// its base. This is the definition's node in a copy of the base or, if there is none, the first by
// content among its nodes in environments that hold it.
func (g *graph) pinnedNode(def types.ID) (int32, bool) {
	if g.pinned == nil {
		g.pinned = map[types.ID]int32{}
		for i := range g.nodes {
			if !g.exists(i) {
				continue
			}
			n := &g.nodes[i]
			old, ok := g.pinned[n.anchor]
			o := &g.nodes[old]
			if c := g.copied(n); !ok || c && !g.copied(o) || c == g.copied(o) && g.precedes(n, o) {
				g.pinned[n.anchor] = int32(i)
			}
		}
	}
	to, ok := g.pinned[def]
	return to, ok
}

// precedes reports whether a is used in place of b, which has the same colour. Nodes of the common
// environment come first, then nodes that aren't from a copied base; ties are broken by content.
func (g *graph) precedes(a, b *node) bool {
	r := g.r
	switch {
	case (a.env < 0) != (b.env < 0):
		return a.env < 0
	case a.env >= 0:
		x, y := &r.list[a.env], &r.list[b.env]
		if x.copied != y.copied {
			return y.copied
		}
		if x.sum != y.sum {
			return x.sum.Less(y.sum)
		}
	}
	return r.Shapes.Nodes[a.anchor].Hash.Less(r.Shapes.Nodes[b.anchor].Hash)
}

// refine colours the nodes: two nodes have the same colour if and only if they are the same type,
// at any depth of references. The colour of a type of the base depends only on its id.
// Rule: equal types in cycles: types that lead to a tag with several definitions. Source: libbpf
// btf_dedup_is_equiv with hypot_map.
func (g *graph) refine() {
	at := make([]int32, len(g.nodes)) // by node: its number in the partition
	p := refine.Graph{First: []uint32{0}}
	for i := range g.nodes {
		if g.based[i] == 0 {
			at[i] = int32(len(p.Labels))
			p.Labels = append(p.Labels, g.r.PlainShape(g.nodes[i].anchor))
		}
	}
	for i := range g.nodes {
		if g.based[i] != 0 {
			continue
		}
		_, targets := g.slots(i)
		for _, t := range targets {
			if t >= 0 && g.based[t] == 0 {
				p.Refs = append(p.Refs, at[t])
				continue
			}
			p.Refs = append(p.Refs, ^int32(len(p.Outside)))
			p.Outside = append(p.Outside, g.outsideColour(t))
		}
		p.First = append(p.First, uint32(len(p.Refs)))
	}
	colours := p.Colours()
	g.colours = make([]types.Hash, len(g.nodes))
	for i := range g.nodes {
		if g.based[i] != 0 {
			g.colours[i] = base.IDHash(g.based[i])
		} else {
			g.colours[i] = colours[at[i]]
		}
	}
}

// outsideColour returns the colour of a target that is a type of the base, or that isn't a node.
func (g *graph) outsideColour(t target) types.Hash {
	if t >= 0 {
		return base.IDHash(g.based[t])
	}
	tag, ofBase := t.tag()
	if ofBase {
		return base.IDHash(g.r.tags[tag].definition)
	}
	return g.r.Shapes.TagHash(tag)
}

// colour returns the colour of a target, after refine.
func (g *graph) colour(t target) types.Hash {
	if t >= 0 {
		return g.colours[t]
	}
	return g.outsideColour(t)
}
