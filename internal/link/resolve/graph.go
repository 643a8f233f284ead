package resolve

import (
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/refine"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// graph holds the anchors as the types that they are. Most environments agree in most of them, so
// there is a common environment, in which every tag is the definition that most units hold: it has
// one node an anchor. Any other environment has nodes for those anchors that differ there.
type graph struct {
	r *resolver
	*meanings
	nodes   []node
	targets []target
	common  []int32     // by anchor: its node in the common environment, -1 for other definitions
	own     [][]ownNode // by environment
	real    []bool      // by node of the common environment: some environment shares it
	based   []uint32    // by node: the type of the base that it is, 0 for none
	colours []types.Hash
	pinned  map[types.ID]int32 // see pinnedNode
}

type node struct {
	anchor types.ID
	env    int32 // -1: the common environment
	first  uint32
}

// ownNode is the node of an anchor that is another type in its environment than in the common one.
type ownNode struct {
	anchor types.ID
	node   int32
}

// target is what a slot means: a node or, if negative, a tag that is only declared or in the base.
type target int32

// forward is a tag that is only declared.
func forward(tag int32) target { return target(^(tag << 1)) }

// ofBase is what the base has of a tag; forward, if that is not a definition.
func (r *resolver) ofBase(tag int32) target {
	if r.tags[tag].definition == 0 {
		return forward(tag)
	}
	return target(^(tag<<1 | 1))
}

// tag returns the tag of a target that is no node, and whether the base's definition is meant.
func (t target) tag() (tag int32, ofBase bool) { return int32(^t) >> 1, ^t&1 != 0 }

// baseID is the id in the base of a target that is no node, 0 if the base does not have it.
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
	return g.common[id]
}

// slots returns the slots of a node and what they mean.
func (g *graph) slots(i int) ([]types.ID, []target) {
	n := &g.nodes[i]
	s := g.r.slotsOf(n.anchor)
	return s, g.targets[n.first : int(n.first)+len(s)]
}

// isDefinition reports whether a node is the definition of a tag.
func (g *graph) isDefinition(i int32) bool { return g.r.Tags.Of(g.nodes[i].anchor) >= 0 }

func (g *graph) copied(n *node) bool { return n.env >= 0 && g.r.list[n.env].copied }

// exists reports whether some environment has a node.
func (g *graph) exists(i int) bool { return g.nodes[i].env >= 0 || g.real[i] }

func (g *graph) add(id types.ID, env int32) int32 {
	g.nodes = append(g.nodes, node{id, env, uint32(len(g.targets))})
	for range g.r.slotsOf(id) {
		g.targets = append(g.targets, 0)
	}
	return int32(len(g.nodes) - 1)
}

// newGraph makes the nodes. An anchor has a different node in an environment if it is a definition
// other than the common one, has pinned stubs, has an open slot that doesn't mean the common
// definition, or leads to an anchor that differs there.
func newGraph(r *resolver, m *meanings) *graph {
	g := &graph{r: r, meanings: m, common: make([]int32, len(r.Nodes)),
		own: make([][]ownNode, len(r.list))}
	m.g = g
	for id := range g.common {
		g.common[id] = -1
	}
	for _, id := range r.anchors {
		if t := r.Tags.Of(id); t < 0 || r.common[t] == id {
			g.common[id] = g.add(id, -1)
		}
	}
	g.real = make([]bool, len(g.nodes))
	for e := range r.list {
		g.addEnvironment(int32(e))
	}
	return g
}

// addEnvironment makes the nodes of the anchors that differ in an environment.
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
		if g.common[id] < 0 || r.list[e].copied {
			mark(id)
			continue
		}
		for _, s := range r.slotsOf(id) {
			if r.pinned(s) || r.anchorOf(v, s) == 0 && g.differs(v, id, s) {
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
		if t := r.Tags.Of(id); t >= 0 && v.single(t) == id {
			for u := range r.users.ofTag.Of(t) {
				if v.holds(u) {
					mark(u)
				}
			}
		}
	}
	for _, id := range r.list[e].anchors {
		if v.node[id] < 0 {
			g.real[g.common[id]] = true
		}
	}
}

// enter lays open an environment with its nodes.
func (g *graph) enter(e int32) *view {
	v := g.r.enter(e)
	for _, d := range g.own[e] {
		v.node[d.anchor] = d.node
	}
	return v
}

// tellApart finds which nodes are the same type.
func (g *graph) tellApart() {
	g.connect()
	g.match()
	g.refine()
}

// connect fills in what the slots of all nodes mean.
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
				targets[j] = target(g.common[s])
			default:
				targets[j] = g.inCommon(g.r.Tags.Of(s))
			}
		}
	}
}

// meaning returns what a slot of root means in the environment that v shows.
func (g *graph) meaning(v *view, root, slot types.ID) target {
	r := g.r
	if id := r.anchorOf(v, slot); id != 0 {
		return target(g.node(v, id))
	}
	if r.pinned(slot) {
		if to, ok := g.pinnedNode(r.Nodes[slot].Ref); ok {
			return target(to)
		}
	}
	if to, ok := r.ofSplit(v, r.Tags.Of(slot)); ok {
		return to
	}
	return g.open(v, root, slot)
}

// pinnedNode returns the node of a definition that BTF pins but does not hold, such as its base's:
// that of a copy of the base, or else of an environment that holds it, the first by content.
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
			if c := g.copied(n); !ok || c && !g.copied(o) || c == g.copied(o) && g.before(n, o) {
				g.pinned[n.anchor] = int32(i)
			}
		}
	}
	to, ok := g.pinned[def]
	return to, ok
}

// before reports which of two nodes of equal colour is used for both: that of the common
// environment, or else the first by content, copies of a base last.
func (g *graph) before(a, b *node) bool {
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
	return r.Nodes[a.anchor].Hash.Less(r.Nodes[b.anchor].Hash)
}

// refine colours the nodes: two have the same colour exactly if they are the same type, however
// deep one looks. A type of the base is its id.
func (g *graph) refine() {
	at := make([]int32, len(g.nodes)) // by node: its number in the partition
	p := refine.Graph{First: []uint32{0}}
	for i := range g.nodes {
		if g.based[i] == 0 {
			at[i] = int32(len(p.Labels))
			p.Labels = append(p.Labels, g.r.shape(g.nodes[i].anchor))
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
			p.Outside = append(p.Outside, g.outside(t))
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

// outside is the colour of a target that no unit's definition is meant by, or that the base has.
func (g *graph) outside(t target) types.Hash {
	if t >= 0 {
		return base.IDHash(g.based[t])
	}
	tag, ofBase := t.tag()
	if ofBase {
		return base.IDHash(g.r.tags[tag].definition)
	}
	return g.r.Tags.List[tag].Hash
}

// colour returns the colour of a target, after refine.
func (g *graph) colour(t target) types.Hash {
	if t >= 0 {
		return g.colours[t]
	}
	return g.outside(t)
}
