package link

import (
	"github.com/rules-btf/rules_btf/internal/types"
)

// A base that only declares a tag which the module defines (FWD T here, struct T there) has other
// types than the module wherever T is in reach: taken strictly, struct device would be the module's
// own because of one pointer somewhere below it. Readers such as libbpf take a forward declaration
// for its definition when they compare structs of a base and a module, and so does the link. A
// definition is the base's if it has the shape of one there and each tag and typedef in it matches
// what it is there:
//
//   - a tag that the base only declares at that place matches whatever the module means by it;
//   - anything else matches what has the same shape and whose tags and typedefs match in turn.
//
// That is the greatest such relation: types that lead to each other match together. Only
// definitions are joined by it. A pointer, a prototype or a typedef is the base's if it means
// exactly the same, so the module's own types lead to the module's T. The relation is transitive,
// so that a type that has been left apart stays apart when the result is linked again.

// bigGroup bounds how many pairs of types of one shape are compared; types of shapes with more are
// the base's only if they mean exactly the same. It takes hostile input to get there: as a rule a
// shape means one or two types.
const bigGroup = 1 << 12

// match is a pair of classes of types: one of any world and one of the base, whose shapes are equal
// but for pins.
type match struct {
	of, base int32
	failed   bool
	forwards int     // slots that the base only declares, and the other doesn't
	users    []int32 // matches that need this one
}

// matcher compares the classes that refinement found.
type matcher struct {
	l      *linker
	p      *phase
	class  map[types.Hash]int32
	rep    []int32 // by class: a node
	inBase []int32 // by class: the base's node with the smallest id, -1 for none
	list   []match
	index  map[[2]int32]int32
}

// joinBase makes the definitions that match one of the base's the base's: what led to them leads
// there. It fills p.joined and refines the phase again if there are any.
func (l *linker) joinBase(p *phase) {
	if l.base.blob == nil || len(l.base.declared) == 0 {
		return
	}
	m := matcher{l: l, p: p, class: map[types.Hash]int32{}, index: map[[2]int32]int32{}}
	m.classify()
	m.pair()
	m.compare()
	to := m.choose()
	joined, any := make([]int32, len(p.nodes)), false
	for i := range p.nodes {
		joined[i] = -1
		if b := to[m.class[p.colours[i]]]; b >= 0 && l.tags.of[p.nodes[i].anchor] >= 0 &&
			!l.ofBase(&p.nodes[i]) {
			joined[i], any = b, true
		}
	}
	if !any {
		return
	}
	for i, t := range p.targets {
		if t >= 0 && joined[t] >= 0 {
			p.targets[i] = joined[t]
		}
	}
	l.refine(p)
	for i, b := range joined {
		if b >= 0 {
			p.colours[i] = p.colours[b]
		}
	}
	p.joined = joined
}

func (l *linker) ofBase(n *typeNode) bool {
	return n.world >= 0 &&
		l.worlds[n.world].kind == baseWorld
}

func (l *linker) fromBase(n *typeNode) bool {
	return n.world >= 0 &&
		l.worlds[n.world].kind.fromBase()
}

// classify numbers the classes. A base's nodes are in the order of their ids.
func (m *matcher) classify() {
	for i, colour := range m.p.colours {
		c, ok := m.class[colour]
		if !ok {
			c = int32(len(m.rep))
			m.class[colour] = c
			m.rep, m.inBase = append(m.rep, int32(i)), append(m.inBase, -1)
		}
		if m.inBase[c] < 0 && m.l.ofBase(&m.p.nodes[i]) {
			m.inBase[c] = int32(i)
		}
	}
}

// pair makes a match of each class and each of the base's classes of equal shape.
func (m *matcher) pair() {
	type group struct{ all, base []int32 }
	groups := map[types.Hash]*group{}
	var order []*group
	for c := range m.rep {
		shape := m.l.unpinned(m.p.nodes[m.rep[c]].anchor)
		g := groups[shape]
		if g == nil {
			g = &group{}
			groups[shape] = g
			order = append(order, g)
		}
		g.all = append(g.all, int32(c))
		if m.inBase[c] >= 0 {
			g.base = append(g.base, int32(c))
		}
	}
	for _, g := range order {
		if len(g.all)*len(g.base) > bigGroup {
			continue
		}
		for _, of := range g.all {
			for _, base := range g.base {
				if of != base {
					m.index[[2]int32{of, base}] = int32(len(m.list))
					m.list = append(m.list, match{of: of, base: base})
				}
			}
		}
	}
}

// compare lets the matches fail that have a slot which doesn't match, until all that are left hold.
func (m *matcher) compare() {
	var failed []int32
	for i := range m.list {
		t := &m.list[i]
		of, base := &m.p.nodes[m.rep[t.of]], &m.p.nodes[m.inBase[t.base]]
		ok := m.l.eachSlot(of.prog, base.prog, func(j, k int) bool {
			x, y := m.p.targets[int(of.target)+j], m.p.targets[int(base.target)+k]
			switch {
			case y < 0:
				if x != y {
					t.forwards++
				}
				return true // the same shape has the same tag here
			case x < 0:
				return false
			}
			a, b := m.class[m.p.colours[x]], m.class[m.p.colours[y]]
			if a == b {
				return true
			}
			need, ok := m.index[[2]int32{a, b}]
			if ok {
				m.list[need].users = append(m.list[need].users, int32(i))
			}
			return ok
		})
		if !ok {
			t.failed = true
			failed = append(failed, int32(i))
		}
	}
	for len(failed) > 0 {
		i := failed[len(failed)-1]
		failed = failed[:len(failed)-1]
		for _, u := range m.list[i].users {
			if !m.list[u].failed {
				m.list[u].failed = true
				failed = append(failed, u)
			}
		}
	}
}

// choose returns for each class the base's node that it is to be, -1 for none and for what is the
// base's as it stands. Of several it is the one that declares the least, then that with the
// smallest id.
func (m *matcher) choose() []int32 {
	to, forwards := make([]int32, len(m.rep)), make([]int, len(m.rep))
	for c := range to {
		to[c] = -1
	}
	for i := range m.list {
		t := &m.list[i]
		if t.failed || m.inBase[t.of] >= 0 {
			continue
		}
		b := m.inBase[t.base]
		if old := to[t.of]; old < 0 || t.forwards < forwards[t.of] ||
			t.forwards == forwards[t.of] && b < old {
			to[t.of], forwards[t.of] = b, t.forwards
		}
	}
	return to
}

// eachSlot calls f with the slots of two programs that stand at the same place, as indexes, until
// it returns false. It tells whether all did. The programs are of shapes that are equal but for
// pins.
func (l *linker) eachSlot(x, y int32, f func(j, k int) bool) bool {
	xs, ys := l.progs.slotsOf(x), l.progs.slotsOf(y)
	if x == y {
		for j := range xs {
			if !f(j, j) {
				return false
			}
		}
		return true
	}
	index := func(slots []slot) map[types.ID]int {
		at := make(map[types.ID]int, len(slots))
		for j := range slots {
			at[slots[j].node] = j
		}
		return at
	}
	atX, atY := index(xs), index(ys)
	root := func(prog int32) types.ID {
		ops := l.progs.opsOf(prog)
		return ops[len(ops)-1].node
	}
	work := [][2]types.ID{{root(x), root(y)}}
	seen := map[[2]types.ID]bool{}
	var a, b []types.ID
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		a, b = l.g.Refs(at[0], a[:0]), l.g.Refs(at[1], b[:0])
		if len(a) != len(b) {
			return false
		}
		for i := range a {
			next := [2]types.ID{a[i], b[i]}
			if seen[next] {
				continue
			}
			seen[next] = true
			switch {
			case l.role[a[i]] != l.role[b[i]]:
				return false
			case l.role[a[i]] == plain:
			case l.role[a[i]] == inner:
				work = append(work, next)
			case !f(atX[a[i]], atY[b[i]]):
				return false
			}
		}
	}
	return true
}
