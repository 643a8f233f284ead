package resolve

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// peers decides what a tag with one shape means in an environment that only declares it. If the tag
// leads to conflicted tags that have uncommon definitions in the environment, the tag means what it
// means to the environment's peers. Peers are environments that hold the tag and have the same
// uncommon definitions, but no other definition of a conflicted tag that the tag leads to. So a
// unit with an uncommon definition gets the types of other units with this definition, not a
// mixture.
type peers struct {
	r       *resolver
	g       *graph
	of      map[int32]*peer // the environments with uncommon definitions
	having  map[types.ID][]int32
	leading map[int32][]bool // by conflicted tag: which tags lead to it
	answers map[question]types.Hash
}

type question struct{ env, tag int32 }

type peer struct {
	uncommon []types.ID
	holds    map[types.ID]int32 // by definition of a varying tag: its node
	single   map[int32]types.ID // the definition of each conflicted tag, 0 for several
}

// maxPeerWork is the limit for the total work of all lookups of peers: the square of the number of
// environments with uncommon definitions, times the number of their conflicted tags, times the
// number of tags that may be looked up; plus a walk over all anchors for each conflicted tag. Above
// this limit, no lookup finds a peer. A module of 985 units with 89 conflicted tags needs a tenth
// of this limit.
const maxPeerWork = 1 << 28

func newPeers(r *resolver, g *graph) *peers {
	p := &peers{r: r, g: g, of: map[int32]*peer{}, having: map[types.ID][]int32{},
		leading: map[int32][]bool{}, answers: map[question]types.Hash{}}
	for e := range r.list {
		if r.list[e].copied {
			continue
		}
		if m := p.peer(g.enter(int32(e))); m != nil {
			p.of[int32(e)] = m
			for _, id := range m.uncommon {
				p.having[id] = append(p.having[id], int32(e))
			}
		}
	}
	if p.workBound() > maxPeerWork {
		p.of = nil
	}
	return p
}

// peer returns the peer for the environment that v shows, or nil if its definitions are all common.
func (p *peers) peer(v *view) *peer {
	r := p.r
	m := &peer{holds: map[types.ID]int32{}, single: map[int32]types.ID{}}
	for _, id := range r.list[v.env].anchors {
		t := r.Shapes.Tags.Of(id)
		if t >= 0 && r.tags[t].conflicted && v.definition(t) == id && r.common[t] != id {
			m.uncommon = append(m.uncommon, id)
		}
	}
	if len(m.uncommon) == 0 {
		return nil
	}
	for _, id := range r.list[v.env].anchors {
		if t := r.Shapes.Tags.Of(id); t >= 0 {
			m.holds[id] = p.g.node(v, id)
			if r.tags[t].conflicted {
				m.single[t] = v.definition(t)
			}
		}
	}
	return m
}

// workBound returns an upper bound for the number of steps that all lookups together take.
func (p *peers) workBound() float64 {
	tags, single := 0, 0
	for i := range p.r.tags {
		if p.r.tags[i].varies {
			tags++
		}
	}
	walked := map[int32]bool{} // the tags for which leads may be asked
	for _, m := range p.of {
		single = max(single, len(m.single))
		for t := range m.single {
			walked[t] = true
		}
	}
	n := float64(len(p.of))
	walk := len(p.r.anchors) + len(p.r.tags) + len(p.r.Shapes.Nodes)/16
	return n*n*float64(single)*float64(tags) + float64(len(walked))*float64(walk)
}

// meaning returns the colour of what a tag means to the environment's peers, or zero without peers.
// Rule: forward declarations: what they mean (rules 1 to 5). 1: as in other units with the same
// uncommon definition.
func (p *peers) meaning(env, tag int32) types.Hash {
	m := p.of[env]
	if t := &p.r.tags[tag]; m == nil || t.conflicted || t.def == 0 {
		return types.Hash{}
	}
	q := question{env, tag}
	h, ok := p.answers[q]
	if !ok {
		h = p.ask(m, tag)
		p.answers[q] = h
	}
	return h
}

func (p *peers) ask(m *peer, tag int32) types.Hash {
	var same []int32 // the peers with the same uncommon definitions, as far as the tag leads to them
	first := true
	for _, id := range m.uncommon {
		switch t := p.r.Shapes.Tags.Of(id); {
		case !p.leads(tag, t):
		case first:
			first, same = false, p.having[id]
		default:
			same = slices.DeleteFunc(slices.Clone(same), func(e int32) bool {
				return p.of[e].single[t] != id
			})
		}
	}
	weight := map[types.Hash]uint64{}
	for _, e := range same {
		other := p.of[e]
		if n, ok := other.holds[p.r.tags[tag].def]; ok && p.agree(m, other, tag) {
			weight[p.g.colours[n]] += p.r.list[e].weight
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

// agree reports whether two environments have the same definitions of those conflicted tags that
// both environments define and to which the parameter tag leads.
func (p *peers) agree(x, y *peer, tag int32) bool {
	for t, id := range x.single {
		if other, ok := y.single[t]; ok && other != id && p.leads(tag, t) {
			return false
		}
	}
	return true
}

// leads reports whether definitions of one tag lead to another tag, which is conflicted.
func (p *peers) leads(tag, to int32) bool {
	leads := p.leading[to]
	if leads == nil {
		r := p.r
		leads = make([]bool, len(r.tags))
		seen := make([]bool, len(r.Shapes.Nodes))
		work := slices.Collect(r.users.ofTag.Of(to))
		for len(work) > 0 {
			id := work[len(work)-1]
			work = work[:len(work)-1]
			if seen[id] || survey.Named(&r.Shapes.Nodes[id]) && r.Shapes.Weight[id] == 0 {
				continue
			}
			seen[id] = true
			work = slices.AppendSeq(work, r.users.ofAnchor.Of(id))
			if t := r.Shapes.Tags.Of(id); t >= 0 && !leads[t] {
				leads[t] = true
				work = slices.AppendSeq(work, r.users.ofTag.Of(t))
			}
		}
		p.leading[to] = leads
	}
	return leads[tag]
}
