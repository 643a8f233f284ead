package resolve

import (
	"iter"

	"github.com/rules-btf/rules_btf/internal/model/types"
)

// A definition in a unit is the same type as a definition in the base if both have the same shape,
// and every tag and typedef to which the unit's definition refers matches its counterpart in the
// base:
//
//   - a tag that the unit only declares matches any meaning that it has in the base;
//   - a tag that the base only declares at that place matches any meaning that it has in the unit;
//   - anything else matches a type of the same shape whose tags and typedefs match too.
//
// A type that leads to no conflicted tag needs no comparison: the hash of its shape finds it
// (fixedBaseID). The code below is for all other types.
//
// More than one relation between types satisfies these rules. The code finds the greatest one, in
// which types that lead to each other match together. The second rule is for modules that define
// what vmlinux only declares. Without that rule, one pointer somewhere below struct device would
// make struct device a type of the module. libbpf treats forward declarations this way within one
// BTF (btf_dedup_is_equiv), but not between split BTF and its base. The second rule applies only to
// definitions. A typedef or a pointer is the base's type only if it means exactly the same, so the
// module's own types lead to the module's definition. The relation is transitive: if a type doesn't
// match here, it also doesn't match when the result is linked again.

// maxSameShape is the maximum number of base types with the same shape that a type is compared
// with. If the comparisons of all types then take more than maxCompared steps, that number is
// lower, but at least fewSameShape. Normally the base has one such type; only hostile input reaches
// the limits.
const (
	maxSameShape = 1 << 8
	fewSameShape = 1 << 3
	maxCompared  = 1 << 21
)

func (r *resolver) baseTypes(shape types.Hash, most int) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		n := 0
		for id := range r.Base.All(shape) {
			if n++; n > most || !yield(id) {
				return
			}
		}
	}
}

// pair is a node and a type of the base that has the same shape.
type pair struct {
	node     int32
	id       uint32
	failed   bool
	forwards int     // how many slots are declarations in the base, but definitions here
	users    []int32 // pairs that need this one
}

type matcher struct {
	*graph
	pairs []pair
	index map[uint64]int32 // by node and id

	own    []types.ID // buffer of walk: the references of the shapes that it is visiting
	theirs []uint32   // buffer of walk: the references of the base's types
}

// match finds the nodes that are types of the base, and fills in g.based.
// Rule: split BTF: what it takes from its base. Source: libbpf btf_dedup_struct_type,
// btf_dedup_is_equiv.
func (g *graph) match() {
	g.based = make([]uint32, len(g.nodes))
	if g.r.Base == nil {
		return
	}
	m := matcher{graph: g}
	for most := maxSameShape; !m.findPairs(most); most /= 2 {
	}
	m.compare(func(*pair) bool { return true }, m.matchesLoosely)
	m.choose(m.isDefinition)
	for i := range m.pairs {
		m.pairs[i].users = nil
	}
	rest := func(p *pair) bool { return !m.isDefinition(p.node) }
	m.compare(rest, m.matchesExactly)
	m.choose(func(node int32) bool { return !m.isDefinition(node) })
}

// findPairs pairs each node with base types of its shape, at most with the given number of them. It
// reports whether the comparisons take at most maxCompared steps.
func (m *matcher) findPairs(most int) bool {
	m.pairs, m.index = m.pairs[:0], map[uint64]int32{}
	steps := 0
	for i := range m.nodes {
		anchor := m.nodes[i].anchor
		each := 1 + int(m.r.Shapes.Nodes[anchor].Count) + len(m.r.slotsOf(anchor))
		for id := range m.r.baseTypes(m.r.PlainShape(anchor), most) {
			if steps += each; steps > maxCompared && most > fewSameShape {
				return false
			}
			m.index[key(int32(i), id)] = int32(len(m.pairs))
			m.pairs = append(m.pairs, pair{node: int32(i), id: id})
		}
	}
	return true
}

func key(node int32, id uint32) uint64 { return uint64(node)<<32 | uint64(id) }

// compare removes each pair that has a slot that doesn't match, until all remaining pairs match.
func (m *matcher) compare(of func(*pair) bool,
	matches func(pair int32, slot types.ID, t target, id uint32) bool) {
	var failed []int32
	for i := range m.pairs {
		p := &m.pairs[i]
		if !of(p) || p.failed {
			continue
		}
		slots, targets := m.slots(int(p.node))
		at := 0
		ok := m.walk(m.nodes[p.node].anchor, p.id, func(id uint32) bool {
			at++
			return matches(int32(i), slots[at-1], targets[at-1], id)
		})
		if !ok {
			p.failed = true
			failed = append(failed, int32(i))
		}
	}
	for len(failed) > 0 {
		i := failed[len(failed)-1]
		failed = failed[:len(failed)-1]
		for _, u := range m.pairs[i].users {
			if p := &m.pairs[u]; of(p) && !p.failed {
				p.failed = true
				failed = append(failed, u)
			}
		}
	}
}

// walk calls f for each slot of a shape. The parameter id is a base type of the same shape. For
// each slot, f gets the id to which that base type refers in the slot's place. If f returns false,
// walk stops and returns false.
func (m *matcher) walk(shape types.ID, id uint32, f func(id uint32) bool) bool {
	r := m.r
	firstOwn, firstTheirs := len(m.own), len(m.theirs)
	defer func() { m.own, m.theirs = m.own[:firstOwn], m.theirs[:firstTheirs] }()
	m.own, m.theirs = r.refsToTags(shape, m.own), r.Base.Refs(id, m.theirs)
	own, theirs := m.own[firstOwn:], m.theirs[firstTheirs:]
	if len(own) != len(theirs) {
		return false
	}
	for i, c := range own {
		switch r.roles[c] {
		case fixed:
		case inner:
			if !m.walk(c, theirs[i], f) {
				return false
			}
		default:
			if !f(theirs[i]) {
				return false
			}
		}
	}
	return true
}

// matchesLoosely reports whether a slot of a pair's node matches the base type with this id, to
// which the pair's base type refers in the slot's place.
func (m *matcher) matchesLoosely(user int32, slot types.ID, t target, id uint32) bool {
	r := m.r
	if r.roles[slot] == stub && r.Base.Declares(id) {
		if t != forward(r.Shapes.Tags.Of(slot)) {
			m.pairs[user].forwards++
		}
		return true
	}
	if t < 0 {
		_, ofBase := t.tag()
		return ofBase
	}
	return m.dependOn(user, t, id)
}

// matchesExactly is like matchesLoosely, but the slot must mean exactly the base type with this id.
func (m *matcher) matchesExactly(user int32, slot types.ID, t target, id uint32) bool {
	r := m.r
	switch {
	case t < 0:
		return r.baseID(t) == id
	case m.isDefinition(int32(t)):
		return m.based[t] == id
	}
	return m.dependOn(user, t, id)
}

// dependOn makes a pair depend on another pair, and reports whether that other pair exists.
func (m *matcher) dependOn(user int32, t target, id uint32) bool {
	need, ok := m.index[key(int32(t), id)]
	if !ok || m.pairs[need].failed {
		return false
	}
	m.pairs[need].users = append(m.pairs[need].users, user)
	return true
}

// choose sets the nodes' base types. If a node matches several, choose takes the one with the
// fewest forward declarations in place of definitions; among these, the one with the smallest id.
func (m *matcher) choose(of func(node int32) bool) {
	forwards := make([]int, len(m.nodes))
	for i := range m.pairs {
		p := &m.pairs[i]
		if p.failed || !of(p.node) {
			continue
		}
		if old := m.based[p.node]; old == 0 || p.forwards < forwards[p.node] {
			m.based[p.node], forwards[p.node] = p.id, p.forwards
		}
	}
}
