package link

import (
	"github.com/rules-btf/rules_btf/internal/types"
)

// A phase is a graph of types: for the default world, in which every tag is its commonest
// definition, one node an anchor; for every other world a node for each anchor that differs there
// (is odd).
type phase struct {
	nodes   []typeNode
	targets []int32 // a node, or ^ a tag that is nothing but declared
	// by anchor: its node in the default world, -1 for definitions that are not the commonest
	byAnch  []int32
	odd     [][]oddNode  // by world
	real    []bool       // by node of the default world: some world has it
	colours []types.Hash // by node, after refinement
	// by node: the base's node that it was joined with, else -1; nil if none was
	joined  []int32
	byDef   map[types.ID]int32 // see elsewhere
	byShape map[types.Hash]int32
	ofBase  map[int32][]int32 // by tag: the nodes of the base's definitions
}

type typeNode struct {
	anchor types.ID
	prog   int32
	world  int32 // -1: the default world
	target uint32
}

type oddNode struct {
	anchor types.ID
	node   int32
}

// findDefaults chooses the default definition of every varying tag: the one that most units hold,
// ties by content. Tags that only a base defines have none here.
func (l *linker) findDefaults() {
	l.defaults = make([]types.ID, len(l.tags.list))
	for _, id := range l.anchors {
		if l.weight[id] == 0 {
			continue
		}
		t := l.tags.of[id]
		if t < 0 {
			continue
		}
		d := l.defaults[t]
		if d == 0 || l.weight[id] > l.weight[d] || l.weight[id] == l.weight[d] &&
			l.nodes[id].Hash.Less(l.nodes[d].Hash) {
			l.defaults[t] = id
		}
	}
}

// newPhase makes the nodes: those of the default world, and of every world those of its odd
// anchors. An anchor is odd when it is a definition that is not the default, has pinned stubs, has
// an open slot for which other says that it doesn't mean the default, or leads to an odd anchor of
// its world.
func (l *linker) newPhase(other func(world int32, s *slot) bool) *phase {
	p := &phase{byAnch: make([]int32, len(l.nodes)), odd: make([][]oddNode, len(l.worlds))}
	for id := range p.byAnch {
		p.byAnch[id] = -1
	}
	for _, id := range l.anchors {
		if t := l.tags.of[id]; t >= 0 && l.defaults[t] != id {
			continue
		}
		p.byAnch[id] = p.add(l, id, -1)
	}
	p.real = make([]bool, len(p.nodes))
	v := l.view()
	var work []types.ID
	for w := range l.worlds {
		world := &l.worlds[w]
		l.enter(v, int32(w))
		mark := func(id types.ID) {
			if v.node[id] < 0 {
				v.node[id] = p.add(l, id, int32(w))
				p.odd[w] = append(p.odd[w], oddNode{id, v.node[id]})
				work = append(work, id)
			}
		}
		for _, id := range world.anchors {
			if world.kind.fromBase() || p.byAnch[id] < 0 || l.progs.list[l.program(id)].pinned {
				mark(id)
				continue
			}
			slots := l.progs.slotsOf(l.program(id))
			for i := range slots {
				s := &slots[i]
				if s.tag < 0 || v.single(s.tag) != 0 {
					continue
				}
				if other != nil && other(int32(w), s) || world.kind == splitWorld && l.base.single[s.tag] != 0 {
					mark(id)
					break
				}
			}
		}
		for len(work) > 0 {
			id := work[len(work)-1]
			work = work[:len(work)-1]
			for _, u := range l.slotUsers.of(uint32(id)) {
				if v.holds(u) {
					mark(u)
				}
			}
			if t := l.tags.of[id]; t >= 0 && v.single(t) == id {
				for _, u := range l.slotUsers.of(uint32(len(l.nodes)) + uint32(t)) {
					if v.holds(u) {
						mark(u)
					}
				}
			}
		}
		for _, id := range world.anchors {
			if v.node[id] < 0 {
				p.real[p.byAnch[id]] = true
			}
		}
	}
	return p
}

func (p *phase) add(l *linker, id types.ID, world int32) int32 {
	prog := l.program(id)
	n := len(l.progs.slotsOf(prog))
	p.nodes = append(p.nodes, typeNode{id, prog, world, uint32(len(p.targets))})
	for range n {
		p.targets = append(p.targets, 0)
	}
	return int32(len(p.nodes) - 1)
}

// connect fills the targets of all nodes. open says what an open slot means (a node, or ^ its tag),
// inDefault what a tag is in the default world.
func (l *linker) connect(p *phase, open func(world int32, s *slot) int32,
	inDefault func(tag int32) int32) {
	v := l.view()
	at := int32(-1)
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.world >= 0 && n.world != at {
			at = n.world
			l.enterPhase(v, p, at)
		}
		slots := l.progs.slotsOf(n.prog)
		for j := range slots {
			s := &slots[j]
			to := &p.targets[int(n.target)+j]
			switch {
			case n.world >= 0:
				*to = l.resolve(v, p, s, open)
			case s.tag < 0:
				*to = p.byAnch[s.node]
			default:
				*to = inDefault(s.tag)
			}
		}
	}
}

// enterPhase is enter, with the odd nodes of the phase.
func (l *linker) enterPhase(v *view, p *phase, w int32) {
	l.enter(v, w)
	for _, o := range p.odd[w] {
		v.node[o.anchor] = o.node
	}
}

// resolve returns what a slot means in the world that v shows.
func (l *linker) resolve(v *view, p *phase, s *slot, open func(world int32, s *slot) int32) int32 {
	if id := l.target(v, s); id != 0 {
		return p.nodeOf(v, id)
	}
	if l.nodes[s.node].Size != 0 {
		if to, ok := l.elsewhere(p, l.nodes[s.node].Ref); ok {
			return to
		}
	}
	kind := l.worlds[v.world].kind
	if d := l.base.single; (kind == copyWorld || kind == splitWorld) && d[s.tag] != 0 {
		to, _ := l.elsewhere(p, d[s.tag])
		return to
	}
	if kind.fromBase() {
		return ^s.tag // a base's forward declarations stay what they are
	}
	return open(v.world, s)
}

// elsewhere returns the node of a definition that a unit pins but doesn't hold, as split BTF does
// with its base's: that of the base if it has it, else that of a world that holds it, chosen by
// content. In split BTF its base's definitions may have pins that they don't have in the base
// alone; then the base's definition that is equal but for pins is meant.
func (l *linker) elsewhere(p *phase, def types.ID) (int32, bool) {
	if p.byDef == nil {
		p.byDef, p.byShape = map[types.ID]int32{}, map[types.Hash]int32{}
		better := func(n *typeNode, old int32) bool {
			o := &p.nodes[old]
			return !l.ofBase(o) && (l.ofBase(n) || l.fromBase(n) && !l.fromBase(o) ||
				l.fromBase(n) == l.fromBase(o) && l.before(n, o))
		}
		for i := range p.nodes {
			n := &p.nodes[i]
			if l.tags.of[n.anchor] < 0 || n.world < 0 && !p.real[i] {
				continue
			}
			if old, ok := p.byDef[n.anchor]; !ok || better(n, old) {
				p.byDef[n.anchor] = int32(i)
			}
			shape := l.unpinned(n.anchor)
			if old, ok := p.byShape[shape]; l.ofBase(n) && (!ok || l.before(n, &p.nodes[old])) {
				p.byShape[shape] = int32(i)
			}
		}
	}
	to, ok := p.byDef[def]
	if !ok {
		to, ok = p.byShape[l.unpinned(def)]
	}
	return to, ok
}

// nodeOf returns the node of an anchor that the world holds.
func (p *phase) nodeOf(v *view, id types.ID) int32 {
	if n := v.node[id]; n >= 0 {
		return n
	}
	return p.byAnch[id]
}

// adjacency is a list of anchors for each key.
type adjacency struct {
	first []uint32
	list  []types.ID
}

func (a *adjacency) of(key uint32) []types.ID { return a.list[a.first[key]:a.first[key+1]] }

// findSlotUsers lists, for every anchor (key: its node) and every tag (key: the number of nodes +
// its index), the anchors whose programs have a slot for it.
func (l *linker) findSlotUsers() {
	a := &l.slotUsers
	n := uint32(len(l.nodes))
	a.first = make([]uint32, len(l.nodes)+len(l.tags.list)+2)
	each := func(f func(key uint32, user types.ID)) {
		for _, id := range l.anchors {
			for _, s := range l.progs.slotsOf(l.program(id)) {
				if s.tag < 0 {
					f(uint32(s.node), id)
				} else {
					f(n+uint32(s.tag), id)
				}
			}
		}
	}
	each(func(key uint32, _ types.ID) { a.first[key+2]++ })
	for i := 2; i < len(a.first); i++ {
		a.first[i] += a.first[i-1]
	}
	a.list = make([]types.ID, a.first[len(a.first)-1])
	each(func(key uint32, user types.ID) {
		a.list[a.first[key+1]] = user
		a.first[key+1]++
	})
}
