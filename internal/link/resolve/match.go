package resolve

import (
	"iter"

	"github.com/rules-btf/rules_btf/internal/model/types"
)

// A definition is the base's if it has the same shape there, and every tag and typedef in it
// matches what it is there:
//
//   - a tag that the unit only declares means the base's, whichever that is;
//   - a tag that the base only declares at that place matches whatever the unit means by it;
//   - anything else matches what has the same shape and whose tags and typedefs match in turn.
//
// That is the greatest such relation: types that lead to each other match together. The second rule
// is for modules that define what vmlinux only declares: taken strictly, struct device would be the
// module's own because of one pointer somewhere below it. libbpf reads forward declarations so
// within one BTF (btf_dedup_is_equiv), but not between split BTF and its base. The rule holds for
// definitions alone: a typedef or a pointer is the base's if it means exactly the same, so the
// module's own types lead to the module's definition. The relation is transitive, so that a type
// which was left apart stays apart when the result is linked again.

// maxSameShape bounds how many types of one shape a type is compared with. It takes hostile input
// to get there: as a rule the base has one.
const maxSameShape = 1 << 8

// baseTypes returns the base's types of a shape, by id.
func (r *resolver) baseTypes(shape types.Hash) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		n := 0
		for id := range r.base.All(shape) {
			if n++; n > maxSameShape || !yield(id) {
				return
			}
		}
	}
}

// pair is a node and a type of the base of the same shape.
type pair struct {
	node     int32
	id       uint32
	failed   bool
	forwards int     // slots that the base only declares, and the node does not
	users    []int32 // pairs that need this one
}

type matcher struct {
	*graph
	pairs []pair
	index map[uint64]int32 // by node and id

	own    []types.ID // memory of walk: the references of the shapes that it is in
	theirs []uint32   // and those of the base's types
}

// match finds the nodes that are types of the base, and fills in based.
func (g *graph) match() {
	g.based = make([]uint32, len(g.nodes))
	if g.r.base == nil {
		return
	}
	m := matcher{graph: g, index: map[uint64]int32{}}
	for i := range g.nodes {
		for id := range g.r.baseTypes(g.r.shape(g.nodes[i].anchor)) {
			m.index[key(int32(i), id)] = int32(len(m.pairs))
			m.pairs = append(m.pairs, pair{node: int32(i), id: id})
		}
	}
	m.compare(func(*pair) bool { return true }, m.similar)
	m.choose(m.isDefinition)
	for i := range m.pairs {
		m.pairs[i].users = nil
	}
	rest := func(p *pair) bool { return !m.isDefinition(p.node) }
	m.compare(rest, m.equal)
	m.choose(func(node int32) bool { return !m.isDefinition(node) })
}

func key(node int32, id uint32) uint64 { return uint64(node)<<32 | uint64(id) }

// compare removes pairs with a slot that doesn't match, until all remaining pairs match.
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

// walk calls f with what the base's type id refers to at each slot of a shape that both have, until
// f returns false. It reports whether it never did.
func (m *matcher) walk(shape types.ID, id uint32, f func(id uint32) bool) bool {
	r := m.r
	firstOwn, firstTheirs := len(m.own), len(m.theirs)
	defer func() { m.own, m.theirs = m.own[:firstOwn], m.theirs[:firstTheirs] }()
	m.own, m.theirs = r.refsToTags(shape, m.own), r.base.Refs(id, m.theirs)
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

// similar reports whether a slot of a pair matches what the base has there.
func (m *matcher) similar(user int32, slot types.ID, t target, id uint32) bool {
	r := m.r
	if r.roles[slot] == stub && r.base.Declares(id) {
		if t != forward(r.Tags.Of(slot)) {
			m.pairs[user].forwards++
		}
		return true
	}
	if t < 0 {
		_, ofBase := t.tag()
		return ofBase
	}
	return m.needs(user, t, id)
}

// equal reports whether a slot of a pair means exactly what the base has there.
func (m *matcher) equal(user int32, slot types.ID, t target, id uint32) bool {
	r := m.r
	switch {
	case t < 0:
		return r.baseID(t) == id
	case m.isDefinition(int32(t)):
		return m.based[t] == id
	}
	return m.needs(user, t, id)
}

// needs makes a pair depend on another pair, and reports whether the other exists.
func (m *matcher) needs(user int32, t target, id uint32) bool {
	need, ok := m.index[key(int32(t), id)]
	if !ok || m.pairs[need].failed {
		return false
	}
	m.pairs[need].users = append(m.pairs[need].users, user)
	return true
}

// choose sets the base's type for nodes: of several that with the fewest forward declarations in
// the place of definitions, then that with the smallest id.
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
