package resolve

import "github.com/rules-btf/rules_btf/internal/model/types"

// Which type is struct dev in CUs that mean different things by struct opts?
//
//	a.c, and most CUs                b.c                              c.c
//	struct opts { int level; };      struct opts { long flags; };     struct opts;
//	struct dev { struct opts *o; };  struct dev { struct opts *o; };  struct dev { struct opts *o; };
//
// In a.c and b.c, struct opts means the CU's own definition, so there are two types struct dev. In
// c.c, struct opts is an FWD, whose meaning depends on which types other CUs have (forward.go). But
// which types there are depends on what the FWDs mean. So the types are found twice:
//
//  1. findCommon: the common struct opts is the definition in a.c, which most CUs hold.
//  2. The draft: every FWD means the common definition. struct dev is one type in a.c and c.c, and
//     a different one in b.c.
//  3. newForwards finds which type of the draft each CU means by struct opts in struct dev. a.c and
//     b.c disagree, so the FWD of c.c means the definition that most CUs hold.
//  4. The final graph: every FWD means the type that was found in step 3, which some CU holds.
//     These are the canonical types, from which makeVariants makes the result.
//
// Steps 2 and 4 are the same work with different meanings of the FWDs: newGraph makes the nodes;
// tellApart finds what the references of each node mean (connect), which nodes are types of the
// base BTF (match), and which are equal (refine).

func (r *resolver) settle() *graph {
	r.findCommon()
	r.findUsers()
	draft := newGraph(r, &meanings{r: r})
	draft.tellApart()
	final := newGraph(r, &meanings{r: r, draft: draft, forwards: newForwards(r, draft)})
	final.findHolders()
	final.tellApart()
	return final
}

// findCommon chooses each varying tag's common definition: the one that most units hold. Ties are
// broken by content. Tags that only the base defines have no common definition.
func (r *resolver) findCommon() {
	r.common = make([]types.ID, len(r.tags))
	for _, id := range r.anchors {
		t := r.Shapes.Tags.Of(id)
		if t < 0 || r.Shapes.Weight[id] == 0 {
			continue
		}
		d := r.common[t]
		if d == 0 || r.Shapes.Weight[id] > r.Shapes.Weight[d] ||
			r.Shapes.Weight[id] == r.Shapes.Weight[d] &&
				r.Shapes.Nodes[id].Hash.Less(r.Shapes.Nodes[d].Hash) {
			r.common[t] = id
		}
	}
}

// meanings has the meanings of the open slots of a graph. An open slot is a reference to an FWD: a
// tag that the environment only declares.
type meanings struct {
	r        *resolver
	g        *graph
	draft    *graph // nil: g is the draft
	forwards *forwards
	// holder maps the colour of a definition in the draft to the node of g that is this type.
	holder map[types.Hash]int32
	// usual says, for each slot of the common environment's nodes, whether the slot is open in the
	// common environment. The slot is open if few of the units that hold the root define the tag,
	// and the FWD of the other units means something other than the common definition. usual is nil
	// in the draft.
	usual []bool
}

// findUsual fills in usual. At that time, g has only the nodes of the common environment.
func (m *meanings) findUsual() {
	if m.draft == nil {
		return
	}
	m.usual = make([]bool, len(m.g.targets))
	for i := range m.g.nodes {
		n := &m.g.nodes[i]
		for j, s := range m.r.slotsOf(n.anchor) {
			if m.r.roles[s] != stub || m.r.isPinned(s) {
				continue
			}
			tag := m.r.Shapes.Tags.Of(s)
			m.usual[int(n.first)+j] = m.r.Shapes.Weight[m.r.common[tag]] < m.r.Shapes.Weight[n.anchor]/2 &&
				m.forwards.usual(n.anchor, tag) != m.draft.colour(m.draft.inCommon(tag))
		}
	}
}

// differs reports whether an open slot of root means something other than in the common
// environment. usual is set if the slot is open in the common environment.
func (m *meanings) differs(v *view, root, slot types.ID, usual bool) bool {
	tag := m.r.Shapes.Tags.Of(slot)
	if _, ok := m.r.ofSplit(v, tag); ok || m.draft == nil {
		return ok
	}
	common := m.draft.colour(m.draft.inCommon(tag))
	if usual {
		common = m.forwards.usual(root, tag)
	}
	return m.forwards.meaning(v, root, slot) != common
}

func (m *meanings) open(v *view, root, slot types.ID) target {
	tag := m.r.Shapes.Tags.Of(slot)
	if m.draft == nil {
		return m.inCommon(tag)
	}
	return m.typeOf(m.forwards.meaning(v, root, slot), tag)
}

// typeOf returns the type of a tag that has this colour in the draft.
func (m *meanings) typeOf(colour types.Hash, tag int32) target {
	if n, ok := m.holder[colour]; ok {
		return target(n)
	}
	if t := m.r.ofBase(tag); m.draft.colour(t) == colour {
		return t
	}
	return forward(tag)
}

func (m *meanings) inCommon(tag int32) target {
	def := m.r.common[tag]
	if def == 0 {
		return m.r.ofBase(tag)
	}
	n := m.g.commonNode(def)
	if m.draft != nil && !m.g.real[n] {
		if held, ok := m.holder[m.draft.colours[m.draft.commonNode(def)]]; ok {
			return target(held)
		}
	}
	return target(n)
}

// findHolders fills in holder. If a type has several nodes, findHolders takes the first one.
func (m *meanings) findHolders() {
	m.holder = map[types.Hash]int32{}
	var v *view
	for i := range m.g.nodes {
		n := &m.g.nodes[i]
		if !m.g.isDefinition(int32(i)) || !m.g.exists(i) {
			continue
		}
		inDraft := m.draft.commonNode(n.anchor)
		if n.env >= 0 {
			if v == nil || v.env != n.env {
				v = m.draft.enter(n.env)
			}
			inDraft = m.draft.node(v, n.anchor)
		}
		colour := m.draft.colours[inDraft]
		if old, ok := m.holder[colour]; !ok || m.g.precedes(n, &m.g.nodes[old]) {
			m.holder[colour] = int32(i)
		}
	}
}
