package link

import (
	"cmp"
	"slices"

	"github.com/rules-btf/rules_btf/internal/types"
)

// A ballot is what the units that hold one root and define (or pin) a tag in it mean by that tag.
type ballot struct {
	cast    bool
	split   bool // they don't agree
	meaning types.Hash
}

func (b *ballot) vote(colour types.Hash) {
	switch {
	case !b.cast:
		b.cast, b.meaning = true, colour
	case b.meaning != colour:
		b.split = true
	}
}

func (b *ballot) agreed() bool { return b.cast && !b.split }

// choices settles what a tag means in units that only declare it, where company doesn't. The rule
// for a tag in a root (the innermost named shape around it):
//
//  1. what all units mean that hold the same root and define the tag;
//  2. else the definition that most units hold, ties by content;
//  3. else the same two questions to the base, where every definition counts the same;
//  4. else nothing: the tag is only declared.
type choices struct {
	own, base         []ballot     // by slot.vote
	ownBest, baseBest []types.Hash // by tag; zero: no definition
}

// assignVotes gives the slots of equal roots (pinned or not) for equal tags the same ballot.
func (l *linker) assignVotes() int {
	type key struct {
		root types.Hash
		tag  int32
	}
	index := map[key]int32{}
	for i := range l.progs.list {
		var root types.Hash
		ops := l.progs.opsOf(int32(i))
		root = l.unpinned(ops[len(ops)-1].node)
		slots := l.progs.slotsOf(int32(i))
		for j := range slots {
			s := &slots[j]
			if s.tag < 0 {
				continue
			}
			k := key{root, s.tag}
			v, ok := index[k]
			if !ok {
				v = int32(len(index))
				index[k] = v
			}
			s.vote = v
		}
	}
	return len(index)
}

// count takes the votes: p is the phase in which open slots mean the default.
func (l *linker) count(p *phase) *choices {
	n := l.assignVotes()
	c := &choices{own: make([]ballot, n), base: make([]ballot, n)}
	weight := make([]uint64, len(p.nodes))
	v := l.view()
	for w := range l.worlds {
		world := &l.worlds[w]
		l.enterPhase(v, p, int32(w))
		ballots := c.own
		switch world.kind {
		case copyWorld:
			continue
		case baseWorld:
			ballots = c.base
		}
		poll := func(root types.ID) {
			slots := l.progs.slotsOf(l.program(root))
			for i := range slots {
				s := &slots[i]
				if s.tag < 0 {
					continue
				}
				if id := l.target(v, s); id != 0 {
					ballots[s.vote].vote(p.colours[p.nodeOf(v, id)])
				} else if world.kind == baseWorld {
					ballots[s.vote].vote(l.tags.list[s.tag].hash)
				}
			}
		}
		for _, id := range world.anchors {
			poll(id)
			weight[p.nodeOf(v, id)] += world.weight
		}
		for _, u := range world.units {
			for _, id := range l.leaves[u] {
				poll(id)
			}
		}
	}
	c.ownBest = l.heaviest(p, weight, false)
	c.baseBest = l.heaviest(p, weight, true)
	return c
}

// heaviest returns for every tag the definition that most units hold, among those of the base or of
// the units.
func (l *linker) heaviest(p *phase, weight []uint64, base bool) []types.Hash {
	type candidate struct {
		tag    int32
		colour types.Hash
		weight uint64
	}
	var all []candidate
	for i := range p.nodes {
		n := &p.nodes[i]
		t := l.tags.of[n.anchor]
		if t < 0 || l.ofBase(n) != base || !base && weight[i] == 0 {
			continue
		}
		all = append(all, candidate{t, p.colours[i], weight[i]})
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.tag, b.tag), a.colour.Cmp(b.colour))
	})
	best := make([]types.Hash, len(l.tags.list))
	for i := 0; i < len(all); {
		c := all[i]
		for c.weight = 0; i < len(all) && all[i].tag == c.tag; {
			k := all[i]
			for i++; i < len(all) && all[i].tag == k.tag && all[i].colour == k.colour; i++ {
				k.weight += all[i].weight
			}
			if best[c.tag] == (types.Hash{}) || k.weight > c.weight {
				best[c.tag], c.weight = k.colour, k.weight
			}
		}
	}
	return best
}

// meaning returns the colour that an open slot means; that of the bare tag if it stays declared.
func (l *linker) meaning(c *choices, s *slot) types.Hash {
	switch {
	case c.own[s.vote].agreed():
		return c.own[s.vote].meaning
	case c.ownBest[s.tag] != types.Hash{}:
		return c.ownBest[s.tag]
	case c.base[s.vote].agreed():
		return c.base[s.vote].meaning
	case c.baseBest[s.tag] != types.Hash{}:
		return c.baseBest[s.tag]
	}
	return l.tags.list[s.tag].hash
}

// settle tells the types apart: first as if every open slot meant the default definition, then with
// open slots bound to what they mean by the choices, always to a type that some unit really holds.
// It returns the phase and what an open slot means in it.
func (l *linker) settle() (*phase, func(world int32, s *slot) int32) {
	l.findDefaults()
	l.findSlotUsers()
	first := l.newPhase(nil)
	inFirst := func(t int32) int32 { return l.defaultIn(first, t) }
	l.connect(first, func(_ int32, s *slot) int32 { return inFirst(s.tag) }, inFirst)
	l.refine(first)
	l.joinBase(first)

	c := l.count(first)
	company := l.newCompany(first)
	meaning := func(world int32, s *slot) types.Hash {
		if m := company.meaning(world, s.tag); m != (types.Hash{}) {
			return m
		}
		return l.meaning(c, s)
	}
	second := l.newPhase(func(world int32, s *slot) bool {
		return meaning(world, s) != l.colour(first.colours, inFirst(s.tag))
	})
	bind := l.holders(first, second)
	open := func(world int32, s *slot) int32 {
		if to, ok := bind[meaning(world, s)]; ok {
			return to
		}
		return ^s.tag
	}
	l.connect(second, open, func(t int32) int32 {
		if d := l.defaults[t]; d != 0 && second.real[second.byAnch[d]] {
			return second.byAnch[d]
		}
		to := inFirst(t)
		if to < 0 {
			return to
		}
		if b, ok := bind[first.colours[to]]; ok {
			return b
		}
		return l.defaultIn(second, t) // no unit's type leads here
	})
	l.refine(second)
	l.joinBase(second)
	return second, open
}

// defaultIn returns the node that a tag is in the default world: of its default definition, else of
// the base's.
func (l *linker) defaultIn(p *phase, t int32) int32 {
	if d := l.defaults[t]; d != 0 {
		return p.byAnch[d]
	}
	best := ^t
	for w := range l.worlds {
		if l.worlds[w].kind != baseWorld {
			continue
		}
		for _, n := range p.baseNodes(l, int32(w))[t] {
			if best < 0 || l.nodes[p.nodes[n].anchor].Hash.Less(l.nodes[p.nodes[best].anchor].Hash) {
				best = n
			}
		}
	}
	return best
}

// holders finds for every class of definitions of the first phase the node of the second that
// stands for it: that of the default world if some world has it, else the smallest by content,
// bases last.
func (l *linker) holders(first, second *phase) map[types.Hash]int32 {
	bind := map[types.Hash]int32{}
	v := l.view()
	at := int32(-1)
	for i := range second.nodes {
		n := &second.nodes[i]
		if l.tags.of[n.anchor] < 0 {
			continue
		}
		in := int32(-1)
		if n.world < 0 {
			if !second.real[i] {
				continue
			}
			in = first.byAnch[n.anchor]
		} else {
			if n.world != at {
				at = n.world
				l.enterPhase(v, first, at)
			}
			in = first.nodeOf(v, n.anchor)
		}
		colour := first.colours[in]
		if old, ok := bind[colour]; !ok || l.before(n, &second.nodes[old]) {
			bind[colour] = int32(i)
		}
	}
	return bind
}

func (l *linker) before(a, b *typeNode) bool {
	if a.world < 0 || b.world < 0 {
		if a.world >= 0 || b.world >= 0 {
			return a.world < 0
		}
		return l.nodes[a.anchor].Hash.Less(l.nodes[b.anchor].Hash)
	}
	x, y := &l.worlds[a.world], &l.worlds[b.world]
	if x.kind != y.kind {
		return x.kind < y.kind
	}
	if x.sig != y.sig {
		return x.sig.Less(y.sig)
	}
	return l.nodes[a.anchor].Hash.Less(l.nodes[b.anchor].Hash)
}

// baseNodes lists the nodes of a base world's definitions by tag.
func (p *phase) baseNodes(l *linker, w int32) map[int32][]int32 {
	if p.ofBase == nil {
		p.ofBase = map[int32][]int32{}
		for _, o := range p.odd[w] {
			if t := l.tags.of[o.anchor]; t >= 0 {
				p.ofBase[t] = append(p.ofBase[t], o.node)
			}
		}
	}
	return p.ofBase
}
