package link

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/types"
)

// company is who else has a world's uncommon definitions. It says what a tag of one shape means in
// a world that only declares it, when the type varies because it leads to conflicted tags: what it
// is in those worlds that hold it and mean the same as this one by the conflicted tags that it
// leads to. So a unit with the less common definition of a tag gets the types of the units that
// have that definition too, and not a mixture of both.
//
// Only worlds with a definition that isn't its tag's default need this: for the others, the choices
// say what is common.
type company struct {
	l       *linker
	p       *phase
	worlds  map[int32]*member // the worlds with uncommon definitions
	having  map[types.ID][]int32
	reaches map[int32][]bool // by conflicted tag: which tags lead to it
	answers map[openTag]types.Hash
}

// bigCompany bounds the work of all answers: worlds with uncommon definitions, squared, by their
// conflicted tags, by the tags that may be asked for. Beyond it there is no company, and the
// choices decide alone. A module of 985 units with 89 conflicted tags needs a hundredth.
const bigCompany = 1 << 31

// member is a world with uncommon definitions.
type member struct {
	uncommon []types.ID
	holds    map[types.ID]int32 // by definition of a varying tag: its node
	single   map[int32]types.ID // the definition of each conflicted tag, 0 for several
}

type openTag struct {
	world, tag int32
}

// newCompany looks at the worlds of a phase.
func (l *linker) newCompany(p *phase) *company {
	c := &company{l: l, p: p, worlds: map[int32]*member{}, having: map[types.ID][]int32{},
		reaches: map[int32][]bool{}, answers: map[openTag]types.Hash{}}
	v := l.view()
	for w := range l.worlds {
		if l.worlds[w].kind.fromBase() {
			continue
		}
		l.enterPhase(v, p, int32(w))
		var m *member
		for _, id := range l.worlds[w].anchors {
			if t := l.tags.of[id]; t >= 0 && l.tags.list[t].conflicted && v.single(t) == id &&
				l.defaults[t] != id {
				if m == nil {
					m = &member{holds: map[types.ID]int32{}, single: map[int32]types.ID{}}
				}
				m.uncommon = append(m.uncommon, id)
				c.having[id] = append(c.having[id], int32(w))
			}
		}
		if m == nil {
			continue
		}
		for _, id := range l.worlds[w].anchors {
			if t := l.tags.of[id]; t >= 0 {
				m.holds[id] = p.nodeOf(v, id)
				if l.tags.list[t].conflicted {
					m.single[t] = v.single(t)
				}
			}
		}
		c.worlds[int32(w)] = m
	}
	if c.work() > bigCompany {
		c.worlds = nil
	}
	return c
}

// work is an upper bound of the steps that all answers take.
func (c *company) work() float64 {
	tags, single := 0, 0
	for i := range c.l.tags.list {
		if c.l.tags.list[i].varies {
			tags++
		}
	}
	for _, m := range c.worlds {
		single = max(single, len(m.single))
	}
	n := float64(len(c.worlds))
	return n * n * float64(single) * float64(tags)
}

// meaning returns the colour of what an open tag means in world w, zero if the company doesn't say.
func (c *company) meaning(w, tag int32) types.Hash {
	m := c.worlds[w]
	if t := &c.l.tags.list[tag]; m == nil || t.conflicted || t.def == 0 {
		return types.Hash{}
	}
	k := openTag{w, tag}
	h, ok := c.answers[k]
	if !ok {
		h = c.ask(m, tag)
		c.answers[k] = h
	}
	return h
}

func (c *company) ask(m *member, tag int32) types.Hash {
	var like []int32 // the worlds with the same uncommon definitions, as far as the tag leads to them
	found := false
	for _, id := range m.uncommon {
		switch t := c.l.tags.of[id]; {
		case !c.leads(tag, t):
		case !found:
			found, like = true, c.having[id]
		default:
			like = slices.DeleteFunc(slices.Clone(like),
				func(w int32) bool { return c.worlds[w].single[t] != id })
		}
	}
	def := c.l.tags.list[tag].def
	weight := map[types.Hash]uint64{}
	for _, w := range like {
		other := c.worlds[w]
		if node, ok := other.holds[def]; ok && c.agree(m, other, tag) {
			weight[c.p.colours[node]] += c.l.worlds[w].weight
		}
	}
	var best types.Hash
	for h, n := range weight {
		if b := weight[best]; n > b || n == b && h.Less(best) {
			best = h
		}
	}
	return best
}

// agree tells whether two worlds have no different definitions of a conflicted tag that tag leads
// to.
func (c *company) agree(a, b *member, tag int32) bool {
	for t, id := range a.single {
		if other, ok := b.single[t]; ok && other != id && c.leads(tag, t) {
			return false
		}
	}
	return true
}

// leads tells whether definitions of tag lead to the conflicted tag to.
func (c *company) leads(tag, to int32) bool {
	found := c.reaches[to]
	if found == nil {
		l := c.l
		found = make([]bool, len(l.tags.list))
		seen := make([]bool, len(l.nodes))
		work := slices.Clone(l.slotUsers.of(uint32(len(l.nodes)) + uint32(to)))
		for len(work) > 0 {
			id := work[len(work)-1]
			work = work[:len(work)-1]
			if seen[id] || named(&l.nodes[id]) && l.weight[id] == 0 && !l.inBase(id) {
				continue // no unit has it
			}
			seen[id] = true
			work = append(work, l.slotUsers.of(uint32(id))...)
			if t := l.tags.of[id]; t >= 0 && !found[t] {
				found[t] = true
				work = append(work, l.slotUsers.of(uint32(len(l.nodes))+uint32(t))...)
			}
		}
		c.reaches[to] = found
	}
	return found[tag]
}
