package resolve

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// alike says what a tag of one shape means in an environment that only declares it, when the tag
// leads to conflicted tags of which the environment has uncommon definitions: what it means in the
// environments that hold the tag, have the same uncommon definitions, and no other definition of
// any conflicted tag that the tag leads to. So a unit with the less common definition of a tag gets
// the types of the units that have that definition too, and not a mixture of both.
type alike struct {
	r       *resolver
	g       *graph
	members map[int32]*member // the environments with uncommon definitions
	having  map[types.ID][]int32
	leading map[int32][]bool // by conflicted tag: which tags lead to it
	answers map[question]types.Hash
}

type question struct{ env, tag int32 }

// member is an environment with uncommon definitions.
type member struct {
	uncommon []types.ID
	holds    map[types.ID]int32 // by definition of a varying tag: its node
	single   map[int32]types.ID // the definition of each conflicted tag, 0 for several
}

// maxAlikeWork bounds the work of all answers: environments with uncommon definitions, squared, by
// their conflicted tags, by the tags that may be asked for. Beyond it there are no answers. A
// module of 985 units with 89 conflicted tags needs a hundredth.
const maxAlikeWork = 1 << 31

func newAlike(r *resolver, g *graph) *alike {
	a := &alike{r: r, g: g, members: map[int32]*member{}, having: map[types.ID][]int32{},
		leading: map[int32][]bool{}, answers: map[question]types.Hash{}}
	for e := range r.list {
		if r.list[e].copied {
			continue
		}
		if m := a.member(g.enter(int32(e))); m != nil {
			a.members[int32(e)] = m
			for _, id := range m.uncommon {
				a.having[id] = append(a.having[id], int32(e))
			}
		}
	}
	if a.work() > maxAlikeWork {
		a.members = nil
	}
	return a
}

// member returns the member for the environment that v shows, nil if that has no uncommon
// definitions.
func (a *alike) member(v *view) *member {
	r := a.r
	m := &member{holds: map[types.ID]int32{}, single: map[int32]types.ID{}}
	for _, id := range r.list[v.env].anchors {
		t := r.Tags.Of(id)
		if t >= 0 && r.tags[t].conflicted && v.single(t) == id && r.common[t] != id {
			m.uncommon = append(m.uncommon, id)
		}
	}
	if len(m.uncommon) == 0 {
		return nil
	}
	for _, id := range r.list[v.env].anchors {
		if t := r.Tags.Of(id); t >= 0 {
			m.holds[id] = a.g.node(v, id)
			if r.tags[t].conflicted {
				m.single[t] = v.single(t)
			}
		}
	}
	return m
}

// work is an upper bound of the steps that all answers take.
func (a *alike) work() float64 {
	tags, single := 0, 0
	for i := range a.r.tags {
		if a.r.tags[i].varies {
			tags++
		}
	}
	for _, m := range a.members {
		single = max(single, len(m.single))
	}
	n := float64(len(a.members))
	return n * n * float64(single) * float64(tags)
}

// meaning returns the colour of what a tag means in an environment that only declares it, zero if
// no environment is like it.
func (a *alike) meaning(env, tag int32) types.Hash {
	m := a.members[env]
	if t := &a.r.tags[tag]; m == nil || t.conflicted || t.def == 0 {
		return types.Hash{}
	}
	q := question{env, tag}
	h, ok := a.answers[q]
	if !ok {
		h = a.ask(m, tag)
		a.answers[q] = h
	}
	return h
}

func (a *alike) ask(m *member, tag int32) types.Hash {
	var like []int32 // those with the same uncommon definitions, as far as the tag leads to them
	found := false
	for _, id := range m.uncommon {
		switch t := a.r.Tags.Of(id); {
		case !a.leads(tag, t):
		case !found:
			found, like = true, a.having[id]
		default:
			like = slices.DeleteFunc(slices.Clone(like), func(e int32) bool {
				return a.members[e].single[t] != id
			})
		}
	}
	weight := map[types.Hash]uint64{}
	for _, e := range like {
		other := a.members[e]
		if n, ok := other.holds[a.r.tags[tag].def]; ok && a.agree(m, other, tag) {
			weight[a.g.colours[n]] += a.r.list[e].weight
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

// agree reports whether two environments have no different definitions of a conflicted tag that tag
// leads to.
func (a *alike) agree(x, y *member, tag int32) bool {
	for t, id := range x.single {
		if other, ok := y.single[t]; ok && other != id && a.leads(tag, t) {
			return false
		}
	}
	return true
}

// leads reports whether definitions of tag lead to the conflicted tag to.
func (a *alike) leads(tag, to int32) bool {
	found := a.leading[to]
	if found == nil {
		r := a.r
		found = make([]bool, len(r.tags))
		seen := make([]bool, len(r.Nodes))
		work := slices.Collect(r.users.ofTag.Of(to))
		for len(work) > 0 {
			id := work[len(work)-1]
			work = work[:len(work)-1]
			if seen[id] || survey.Named(&r.Nodes[id]) && r.Weight[id] == 0 {
				continue
			}
			seen[id] = true
			work = slices.AppendSeq(work, r.users.ofAnchor.Of(id))
			if t := r.Tags.Of(id); t >= 0 && !found[t] {
				found[t] = true
				work = slices.AppendSeq(work, r.users.ofTag.Of(t))
			}
		}
		a.leading[to] = found
	}
	return found[tag]
}
