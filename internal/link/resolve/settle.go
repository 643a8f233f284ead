package resolve

import "github.com/rules-btf/rules_btf/internal/model/types"

// Which type is struct dev in CUs that mean different things by struct opts?
//
//	a.c, and most CUs                b.c                              c.c
//	struct opts { int level; };      struct opts { long flags; };     struct opts;
//	struct dev { struct opts *o; };  struct dev { struct opts *o; };  struct dev { struct opts *o; };
//
// In a.c and b.c the definition of struct opts in the CU itself is meant, so there are two types
// struct dev. What the FWD of c.c means is decided by which types other CUs have (forward.go); but
// which types there are depends on what the FWDs mean. So types are found twice:
//
//  1. findCommon: the common struct opts is that of a.c, which most CUs hold.
//  2. draftTypes: every FWD means the common definition. struct dev is one type in a.c and c.c, and
//     another one in b.c.
//  3. newForwards: what the CUs mean by struct opts in struct dev, in terms of the draft: a.c and
//     b.c disagree, so the FWD of c.c means the definition that most CUs hold.
//  4. finalTypes: every FWD means the type so found, of some CU that holds it. These are the
//     canonical types, of which makeVariants makes the result.
//
// 2 and 4 are the same work with other meanings of the FWDs: newGraph makes the nodes; tellApart
// finds what the references of each node mean (connect), which nodes are types of the base BTF
// (match), and which are equal (refine).

// settle finds the canonical types of all environments.
func (r *resolver) settle() *graph {
	r.findCommon()
	r.findUsers()
	draft := r.draftTypes()
	return r.finalTypes(draft, newForwards(r, draft))
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

// meanings say what the open slots of a graph mean: references to a FWD, that is to a tag that an
// environment only declares.
type meanings interface {
	// differs reports whether an open slot of root does not mean the common definition.
	differs(v *view, root, slot types.ID) bool
	// open returns what an open slot of root means in the environment that v shows.
	open(v *view, root, slot types.ID) target
	// inCommon returns what a tag means in the common environment.
	inCommon(tag int32) target
}

// draftTypes tells the types apart as if every FWD meant the common definition.
func (r *resolver) draftTypes() *graph {
	d := &draftMeanings{r: r}
	d.g = newGraph(r, d)
	d.g.tellApart()
	return d.g
}

type draftMeanings struct {
	r *resolver
	g *graph
}

func (d *draftMeanings) differs(v *view, _, slot types.ID) bool {
	_, ok := d.r.ofSplit(v, d.r.Tags.Of(slot))
	return ok
}

func (d *draftMeanings) open(_ *view, _, slot types.ID) target {
	return d.inCommon(d.r.Tags.Of(slot))
}

func (d *draftMeanings) inCommon(tag int32) target {
	if def := d.r.common[tag]; def != 0 {
		return target(d.g.common[def])
	}
	return d.r.ofBase(tag)
}

// finalTypes tells the types apart with each FWD resolved, always to a type that some unit really
// holds.
func (r *resolver) finalTypes(draft *graph, f *forwards) *graph {
	m := &finalMeanings{r: r, draft: draft, forwards: f}
	m.g = newGraph(r, m)
	m.findHolders()
	m.g.tellApart()
	return m.g
}

type finalMeanings struct {
	r        *resolver
	draft, g *graph
	forwards *forwards
	// holder is the node of g that stands for a definition's type in the draft, by its colour there.
	holder map[types.Hash]int32
}

func (f *finalMeanings) differs(v *view, root, slot types.ID) bool {
	tag := f.r.Tags.Of(slot)
	if _, ok := f.r.ofSplit(v, tag); ok {
		return true
	}
	return f.forwards.meaning(v, root, slot) != f.draft.colour(f.draft.meanings.inCommon(tag))
}

func (f *finalMeanings) open(v *view, root, slot types.ID) target {
	colour, tag := f.forwards.meaning(v, root, slot), f.r.Tags.Of(slot)
	if n, ok := f.holder[colour]; ok {
		return target(n)
	}
	if t := f.r.ofBase(tag); f.draft.colour(t) == colour {
		return t
	}
	return forward(tag)
}

func (f *finalMeanings) inCommon(tag int32) target {
	def := f.r.common[tag]
	if def == 0 {
		return f.r.ofBase(tag)
	}
	if n := f.g.common[def]; f.g.real[n] {
		return target(n)
	}
	if n, ok := f.holder[f.draft.colours[f.draft.common[def]]]; ok {
		return target(n)
	}
	return target(f.g.common[def])
}

// findHolders fills in holder: of the nodes of one type that which comes first.
func (f *finalMeanings) findHolders() {
	f.holder = map[types.Hash]int32{}
	var v *view
	for i := range f.g.nodes {
		n := &f.g.nodes[i]
		if !f.g.isDefinition(int32(i)) || !f.g.exists(i) {
			continue
		}
		inDraft := f.draft.common[n.anchor]
		if n.env >= 0 {
			if v == nil || v.env != n.env {
				v = f.draft.enter(n.env)
			}
			inDraft = f.draft.node(v, n.anchor)
		}
		colour := f.draft.colours[inDraft]
		if old, ok := f.holder[colour]; !ok || f.g.before(n, &f.g.nodes[old]) {
			f.holder[colour] = int32(i)
		}
	}
}
