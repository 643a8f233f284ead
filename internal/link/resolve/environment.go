package resolve

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// environment is a set of units with the same varying definitions and typedefs.
type environment struct {
	anchors  []types.ID
	declares []int32 // in BTF that is already linked: the tags that it declares
	units    []int32
	weight   uint64 // how many units
	sum      types.Hash
	// linked is set if the units are BTF that is already linked. In them, a forward declaration means
	// a definition only if its tag has just one.
	linked bool
	// copied is set if the environment is the base BTF of an input that is split BTF. Its types are
	// not linked, but pinned stubs in the split BTF may mean these types.
	copied bool
}

type environments struct {
	list []environment
	of   []int32 // by unit: its environment, or -1 if nothing in the unit varies
	// roots lists, by unit, the varying functions, variables and anonymous types that the unit holds.
	roots [][]types.ID
	// attached lists, by unit, the varying declaration tags and sections that the unit holds.
	attached [][]types.ID
}

// someUnits is how many units are looked at before environments are made of them. Lists of all
// units' varying shapes would take much memory.
const someUnits = 1 << 10

// varying calls do for each unit, in order, with the varying shapes that the unit holds, in the
// unit's order. The function must not keep the list.
func (r *resolver) varying(do func(u int, varying []types.ID)) {
	lists := make([][]types.ID, min(someUnits, len(r.Held.Units)))
	for first := 0; first < len(r.Held.Units); first += someUnits {
		n := min(someUnits, len(r.Held.Units)-first)
		parallel.Do(r.jobs, n, func(i int) {
			lists[i] = lists[i][:0]
			if u := first + i; r.Held.Selected[u] {
				lists[i] = r.appendVarying(lists[i], r.Held.Units[u].Items)
			}
		})
		for i, list := range lists[:n] {
			do(first+i, list)
		}
	}
}

func (r *resolver) appendVarying(list, items []types.ID) []types.ID {
	roles := r.roles
	for _, id := range items {
		if roles[id] != fixed {
			list = append(list, id)
		}
	}
	return list
}

// findEnvironments groups the selected units by their varying definitions and typedefs.
// Rule: environments.
func (r *resolver) findEnvironments() {
	n := len(r.Held.Units)
	r.of, r.roots, r.attached = make([]int32, n), make([][]types.ID, n), make([][]types.ID, n)
	bySum := map[types.Hash]int32{}
	nodes := len(r.Shapes.Nodes)
	g := gatherer{r: r, stamp: make([]int32, nodes), part: make([]int32, nodes)}
	r.varying(func(u int, varying []types.ID) {
		r.of[u] = -1
		if len(varying) == 0 {
			return
		}
		g.begin(r.Held.Units[u].FromBTF)
		g.take(varying)
		r.roots[u], r.attached[u] = g.roots, g.attached
		if len(g.anchors) == 0 && len(g.roots) == 0 && len(g.attached) == 0 {
			return
		}
		e, ok := bySum[g.sum]
		if !ok {
			e = int32(len(r.list))
			bySum[g.sum] = e
			r.list = append(r.list, g.result())
		}
		r.of[u] = e
		r.list[e].units = append(r.list[e].units, int32(u))
		r.list[e].weight += uint64(r.Held.Units[u].Count)
	})
	for _, items := range r.copies {
		g.begin(true)
		g.take(r.appendVarying(nil, items))
		g.copied = true
		r.list = append(r.list, g.result())
	}
	r.dropUnheld()
}

// dropUnheld drops the anchors that no environment holds. Only a graph that wasn't read from a file
// has such anchors. They would affect colours, and colours break ties.
func (r *resolver) dropUnheld() {
	held := make([]bool, len(r.Shapes.Nodes))
	for e := range r.list {
		for _, id := range r.list[e].anchors {
			held[id] = true
		}
	}
	r.anchors = slices.DeleteFunc(r.anchors, func(id types.ID) bool { return !held[id] })
}

type gatherer struct {
	r     *resolver
	round int32
	stamp []int32 // by node: the round in which it was an anchor or a declared tag
	part  []int32 // by node: the round in which it was a part of another shape
	environment
	roots, attached []types.ID
}

func (g *gatherer) begin(linked bool) {
	g.round++
	g.environment = environment{linked: linked, anchors: g.anchors[:0]}
	if linked {
		g.sum.A++
	}
	g.roots, g.attached = nil, nil
}

// result returns the environment without the memory that the gatherer uses for the next one.
func (g *gatherer) result() environment {
	e := g.environment
	e.anchors = slices.Clone(e.anchors)
	return e
}

// note adds a node to the environment's sum, and reports whether the node is new.
func (g *gatherer) note(id types.ID) bool {
	if g.stamp[id] == g.round {
		return false
	}
	g.stamp[id] = g.round
	h := types.Start(types.KindVoid, 0, 0, g.r.Shapes.Nodes[id].Hash, types.Hash{})
	g.sum = g.sum.Plus(h.Sum(false))
	return true
}

func (g *gatherer) anchor(id types.ID) {
	if g.note(id) {
		g.anchors = append(g.anchors, id)
	}
}

// follow adds the typedefs and large anonymous shapes to which a shape leads.
func (g *gatherer) follow(id types.ID) {
	for _, s := range g.r.slotsOf(id) {
		if g.r.roles[s] == anchor {
			g.anchor(s)
		}
	}
}

// take adds the varying shapes that a unit holds.
func (g *gatherer) take(varying []types.ID) {
	r := g.r
	if g.linked {
		var refs []types.ID
		for _, id := range varying {
			if r.roles[id] == inner || r.roles[id] == anchor {
				refs = r.Shapes.Graph.Refs(id, refs[:0])
				for _, c := range refs {
					g.part[c] = g.round
				}
			}
		}
	}
	for _, id := range varying {
		switch r.roles[id] {
		case stub:
			if g.note(id) {
				g.declares = append(g.declares, r.Shapes.Tags.Of(id))
			}
		case anchor:
			g.anchor(id)
		case inner:
			kind := r.Shapes.Kinds[id]
			switch {
			case kind == types.KindDeclTag || kind == types.KindDatasec:
				g.attached = append(g.attached, id)
			case kind == types.KindFunc || kind == types.KindVar || g.part[id] != g.round:
				g.roots = append(g.roots, id) // other inner shapes are made with the type around them
				g.follow(id)
			}
		}
	}
	for i := 0; i < len(g.anchors); i++ {
		g.follow(g.anchors[i])
	}
}

// view shows what each tag and anchor means in one environment. The time to enter an environment
// depends only on how much this environment holds.
type view struct {
	env      int32
	of       *graph  // its nodes are shown; nil: no graph's
	round    int32   // how many environments have been entered
	defined  []int32 // by tag: the last round whose environment defines it
	declared []int32 // by tag: the last round whose environment declares it
	def      []types.ID
	held     []int32 // by node: the last round whose environment holds it
	node     []int32 // by anchor: this environment's own node in graph, or -1
}

const several = ^types.ID(0)

func newView(tags, nodes int) *view {
	return &view{defined: make([]int32, tags), declared: make([]int32, tags),
		def: make([]types.ID, tags), held: make([]int32, nodes), node: make([]int32, nodes)}
}

// enter makes the view show an environment.
func (r *resolver) enter(e int32) *view {
	v := r.view
	v.env, v.of = e, nil
	v.round++
	for _, id := range r.list[e].anchors {
		v.held[id] = v.round
		v.node[id] = -1
		if t := r.Shapes.Tags.Of(id); t >= 0 {
			if v.defined[t] == v.round {
				v.def[t] = several
				continue
			}
			v.defined[t] = v.round
			v.def[t] = id
		}
	}
	for _, t := range r.list[e].declares {
		v.declared[t] = v.round
	}
	return v
}

// holds reports whether the environment has the anchor.
func (v *view) holds(id types.ID) bool { return v.held[id] == v.round }

// declares reports whether the environment is BTF that has a forward declaration of the tag.
func (v *view) declares(t int32) bool { return v.declared[t] == v.round }

// definition returns the environment's only definition of a tag; 0 if it has none or several.
func (v *view) definition(t int32) types.ID {
	if v.defined[t] != v.round || v.def[t] == several {
		return 0
	}
	return v.def[t]
}

// anchorOf returns the anchor that a slot means in the environment, or 0 if the slot is open.
func (r *resolver) anchorOf(v *view, slot types.ID) types.ID {
	switch {
	case r.roles[slot] == anchor:
		return slot
	case r.isPinned(slot):
		if d := r.Shapes.Nodes[slot].Ref; v.holds(d) {
			return d
		}
		return 0
	}
	t := r.Shapes.Tags.Of(slot)
	if r.isSplit(v) {
		switch {
		case r.ofBaseForward(v, t):
			return 0 // a reference to a definition is pinned: see object.AddBTF
		case v.declares(t) && r.tags[t].definition != 0:
			return 0 // it may also mean the base's definition
		}
	}
	return v.definition(t)
}

// isSplit reports whether v shows the environment of split BTF whose base is also among the units.
func (r *resolver) isSplit(v *view) bool { return r.list[v.env].linked && len(r.copies) > 0 }

// ofBaseForward is for environments of split BTF and of copies of its base. It reports whether an
// unpinned tag means the base's forward declaration there. If the split BTF has its own
// declaration, and the base has no definition, the tag doesn't mean the base's declaration: BTF
// that was linked against the base would refer to the base's declaration, so the split BTF's own
// declaration is still to be resolved.
// Rule: forward declarations: in split BTF.
func (r *resolver) ofBaseForward(v *view, tag int32) bool {
	t := &r.tags[tag]
	return t.declaration != 0 &&
		(t.definition != 0 || r.list[v.env].copied || !v.declares(tag))
}

// ofSplit is for tags that split BTF, or a copy of its base, only declares. If a tag can have only
// one meaning (the base's definition, or a forward declaration), ofSplit returns it.
func (r *resolver) ofSplit(v *view, tag int32) (target, bool) {
	switch {
	case !r.isSplit(v):
	case r.ofBaseForward(v, tag), r.list[v.env].copied && v.declares(tag):
		return forward(tag), true
	case !v.declares(tag):
		return r.ofBase(tag), true
	}
	return 0, false
}

// Copies finds the units that are base BTFs: if an input is split BTF, its base is also a unit.
// The result rest has all units, but without the items of the base BTFs; isBase says which units
// are base BTFs, and held has the items of these units. The last two are nil if there are no base
// BTFs. The given units don't change.
// Rule: bases that are also inputs of the link.
func Copies(g *types.Graph, units []object.Unit, b base.Base) (rest []object.Unit, isBase []bool,
	held [][]types.ID) {
	linked := func(u object.Unit) bool { return u.FromBTF }
	if b == nil || !slices.ContainsFunc(units, linked) {
		return units, nil, nil
	}
	shapes := g.Unpinned()
	layers := b.Layers()
	rest, isBase = slices.Clone(units), make([]bool, len(units))
	for i := range rest {
		u := &rest[i]
		if !u.FromBTF {
			continue
		}
		list := make([]types.Hash, len(u.Items))
		for j, id := range u.Items {
			list[j] = shapes[id]
		}
		if slices.Contains(layers, base.Digest(list)) {
			held = append(held, u.Items)
			u.Items, isBase[i] = nil, true
		}
	}
	return rest, isBase, held
}
