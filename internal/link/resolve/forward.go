package resolve

import "github.com/rules-btf/rules_btf/internal/model/types"

// What does a tag mean in an environment that only declares it? The first of these rules that gives
// an answer decides:
//
//  1. If the tag has one shape, but leads to a conflicted tag that has an uncommon definition in
//     this environment (units with the same varying definitions and typedefs), the tag means what
//     it means in environments with the same uncommon definitions (see peers).
//  2. The root is the innermost named shape around the tag. If all units that hold the root and
//     define the tag agree on what the tag means in the root, it means the same here.
//  3. The tag means the definition that most units hold. Ties are broken by content.
//  4. The tag means the base's definition.
//  5. The tag has no meaning, and stays a declaration.
//
// There is an exception for BTF that is the result of an earlier link: as with libbpf
// (btf_dedup_resolve_fwds), a forward declaration stays a declaration if its tag has several
// definitions in the units or the base.
//
// For the kernels in docs/kernels.md and the modules compared with them, rule 1 makes a difference
// only in amdgpu, and rule 2 only in the kernel for armmp and in amdgpu; rules 3 and 4 decide the
// rest.
type forwards struct {
	r     *resolver
	g     *graph          // the draft, in which open slots mean the common environment's types
	votes map[ballot]vote // by root and tag
	most  []types.Hash    // by tag: the definition that most units hold; zero for none
	only  []bool          // by tag: there is no second definition, not even in the base
	peers *peers
}

type ballot struct {
	root types.ID // see resolver.unpinned
	tag  int32
}

// vote is a tag's meaning in a root, according to the units that hold the root and define the tag:
// a node of the draft, or disputed.
type vote int32

const disputed vote = -1 // these units do not agree

// newForwards collects the meanings of tags in the units that define them.
func newForwards(r *resolver, g *graph) *forwards {
	f := &forwards{r: r, g: g, votes: map[ballot]vote{}}
	weight := make([]uint64, len(g.nodes))
	for e := range r.list {
		env := &r.list[e]
		if env.copied {
			continue
		}
		v := g.enter(int32(e))
		for _, id := range env.anchors {
			f.poll(v, id)
			weight[g.node(v, id)] += env.weight
		}
		for _, u := range env.units {
			for _, id := range r.roots[u] {
				f.poll(v, id)
			}
		}
	}
	f.count(weight)
	f.peers = newPeers(r, g)
	return f
}

// poll stores the meanings of the tags in a root, in the environment of v.
func (f *forwards) poll(v *view, root types.ID) {
	for _, s := range f.r.slotsOf(root) {
		if f.r.roles[s] != stub {
			continue
		}
		id := f.r.anchorOf(v, s)
		if id == 0 {
			continue
		}
		b := ballot{f.r.unpinned(root), f.r.Shapes.Tags.Of(s)}
		meaning := vote(f.g.node(v, id))
		if old, ok := f.votes[b]; !ok {
			f.votes[b] = meaning
		} else if old != disputed && f.g.colours[old] != f.g.colours[meaning] {
			f.votes[b] = disputed
		}
	}
}

// count finds, for each tag, the definition that most units hold.
func (f *forwards) count(weight []uint64) {
	type definition struct {
		tag    int32
		colour types.Hash
	}
	held := map[definition]uint64{}
	for i, w := range weight {
		if t := f.r.Shapes.Tags.Of(f.g.nodes[i].anchor); t >= 0 && w != 0 {
			held[definition{t, f.g.colours[i]}] += w
		}
	}
	n := len(f.r.tags)
	f.most, f.only = make([]types.Hash, n), make([]bool, n)
	most := make([]uint64, n)
	for d, w := range held {
		f.only[d.tag] = most[d.tag] == 0
		if w > most[d.tag] || w == most[d.tag] && d.colour.Less(f.most[d.tag]) {
			f.most[d.tag], most[d.tag] = d.colour, w
		}
	}
	for i := range f.r.tags {
		if t := &f.r.tags[i]; t.definition != 0 {
			same := f.most[i] == f.g.colour(f.r.ofBase(int32(i)))
			f.only[i] = f.only[i] && same && !t.several
		}
	}
}

// meaning returns the colour of the type that an open slot of root means in the environment of v.
// Rule: forward declarations: what they mean (rules 1 to 5). BTF that was already linked is an
// exception. Source: libbpf btf_dedup_is_equiv, btf_dedup_merge_hypot_map, btf_dedup_resolve_fwds.
func (f *forwards) meaning(v *view, root, slot types.ID) types.Hash {
	tag := f.r.Shapes.Tags.Of(slot)
	if f.r.list[v.env].linked && v.declares(tag) {
		if f.only[tag] {
			return f.most[tag]
		}
		return f.g.colour(forward(tag))
	}
	if m := f.peers.meaning(v.env, tag); m != (types.Hash{}) {
		return m
	}
	return f.usual(root, tag)
}

// usual returns what an open slot of root for a tag means if rule 1 gives no answer: it applies
// rules 2 to 5.
// Rule: forward declarations: what they mean (rules 1 to 5). 2: as in units that define the tag and
// hold the same referring type, 3: the definition that most units hold, 4: the definition of the
// base, 5: a declaration.
func (f *forwards) usual(root types.ID, tag int32) types.Hash {
	if v, ok := f.votes[ballot{f.r.unpinned(root), tag}]; ok && v != disputed {
		return f.g.colours[v]
	}
	if m := f.most[tag]; m != (types.Hash{}) {
		return m
	}
	return f.g.colour(f.r.ofBase(tag))
}
