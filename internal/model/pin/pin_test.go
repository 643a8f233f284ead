package pin

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/model/refine"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// definition is a struct of a model: a tag, and members that lead to other definitions.
type definition struct {
	tag  int
	size uint32
	refs []reference
}

type reference struct {
	to   int // a definition of the unit
	wrap int // the type in between: see build
}

// A unit of the model is a list of definitions that refer to each other.
type unit []definition

// randomUnits makes units from a common stock of definitions, so that units share some of them.
// There are few tags, so that tags have several definitions.
func randomUnits(rng *rand.Rand) []unit {
	common := make(unit, 2+rng.IntN(8))
	tags, sizes := 1+rng.IntN(3), 1+rng.IntN(2)
	for i := range common {
		d := definition{tag: rng.IntN(tags), size: uint32(rng.IntN(sizes))}
		for range rng.IntN(3) {
			d.refs = append(d.refs, reference{rng.IntN(len(common)), rng.IntN(3)})
		}
		common[i] = d
	}
	var units []unit
	for range 1 + rng.IntN(4) {
		var u unit
		at := map[int]int{}
		var add func(i int) int
		add = func(i int) int {
			if to, ok := at[i]; ok {
				return to
			}
			to := len(u)
			at[i] = to
			d := common[i]
			if rng.IntN(12) == 0 {
				d.size += 10
			}
			u = append(u, d)
			refs := slices.Clone(d.refs)
			for k := range refs {
				refs[k].to = add(refs[k].to)
			}
			u[to].refs = refs
			return to
		}
		for range 1 + rng.IntN(3) {
			add(rng.IntN(len(common)))
			if rng.IntN(2) == 0 {
				clear(at) // the same definitions once more
			}
		}
		units = append(units, u)
	}
	return units
}

// build makes the graph of a unit, with its definitions in the order perm.
func (u unit) build(perm []int) (*types.Graph, []types.ID) {
	g := types.New()
	name := func(tag int) types.Str { return g.Strs.Intern(fmt.Appendf(nil, "t%d", tag)) }
	stub := func(i int) types.ID {
		return g.PinnedStub(types.TagStruct, name(u[i].tag), Provisional(uint64(perm[i]), 0))
	}
	ids := make([]types.ID, len(u))
	for _, i := range perm {
		var elems []types.Elem
		for _, r := range u[i].refs {
			to := stub(r.to)
			switch r.wrap {
			case 1:
				to = g.Add(types.Node{Kind: types.KindPtr, Ref: to}, nil)
			case 2:
				to = g.Add(types.Node{Kind: types.KindUnion, Size: 8}, []types.Elem{{Ref: to}, {Ref: to}})
			}
			elems = append(elems, types.Elem{Name: g.Strs.Intern([]byte("m")), Ref: to})
		}
		ids[i] = g.Add(types.Node{Kind: types.KindStruct, Name: name(u[i].tag), Size: u[i].size}, elems)
	}
	for i := range u {
		if err := g.Define(stub(i), ids[i]); err != nil {
			panic(err)
		}
	}
	return g, ids
}

// greatest returns the greatest relation over n things in which all related pairs are alike.
// Whether a pair is alike may depend on the relation itself.
func greatest(n int, alike func(i, j int, related func(i, j int) bool) bool) func(i, j int) bool {
	rel := make([]bool, n*n)
	for i := range rel {
		rel[i] = true
	}
	related := func(i, j int) bool { return rel[i*n+j] }
	for changed := true; changed; {
		changed = false
		for k := range rel {
			if rel[k] && !alike(k/n, k%n, related) {
				rel[k], changed = false, true
			}
		}
	}
	return related
}

// hasSeveral reports, for each tag of the unit, whether it has different definitions.
func (u unit) hasSeveral() map[int]bool {
	equal := greatest(len(u), func(i, j int, related func(i, j int) bool) bool {
		return u[i].tag == u[j].tag && u[i].size == u[j].size &&
			slices.EqualFunc(u[i].refs, u[j].refs, func(a, b reference) bool {
				return a.wrap == b.wrap && related(a.to, b.to)
			})
	})
	several := map[int]bool{}
	for i := range u {
		for j := range u {
			if u[i].tag == u[j].tag && !equal(i, j) {
				several[u[i].tag] = true
			}
		}
	}
	return several
}

// TestUnits imports units into one graph, and compares the result with the definition of equality:
// two definitions become one node, with one pin, if and only if they are equal. If a tag has only
// one definition in the unit, references to it are compared only by the tag.
func TestUnits(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 0))
		units := randomUnits(rng)
		type key struct{ unit, def int }
		var all []key
		var several []map[int]bool
		for i, u := range units {
			several = append(several, u.hasSeveral())
			for d := range u {
				all = append(all, key{i, d})
			}
		}
		index := map[key]int{}
		for i, k := range all {
			index[k] = i
		}
		equal := greatest(len(all), func(i, j int, related func(i, j int) bool) bool {
			a, b := all[i], all[j]
			x, y := units[a.unit][a.def], units[b.unit][b.def]
			return x.tag == y.tag && x.size == y.size && slices.EqualFunc(x.refs, y.refs,
				func(p, q reference) bool {
					to, from := units[a.unit][p.to].tag, units[b.unit][q.to].tag
					pinned := several[a.unit][to]
					return p.wrap == q.wrap && to == from && pinned == several[b.unit][from] &&
						(!pinned || related(index[key{a.unit, p.to}], index[key{b.unit, q.to}]))
				})
		})

		var first *types.Graph
		var nodes []types.Hash
		for round := range 2 {
			g := types.New()
			found := make([]types.ID, len(all))
			pins := make([]types.Hash, len(all))
			for _, i := range rng.Perm(len(units)) {
				u := units[i]
				from, defs := u.build(rng.Perm(len(u)))
				ids, err := Import(g, from, [][]types.ID{defs})
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				for d, id := range defs {
					found[index[key{i, d}]] = ids[id]
				}
				for id := range from.Nodes {
					n, to := from.Node(types.ID(id)), g.Node(ids[id])
					if n.Kind != types.KindStub {
						continue
					}
					d := slices.Index(defs, n.Ref)
					if want := several[i][u[d].tag]; (to.Size == 1) != want {
						t.Fatalf("seed %d: unit %d: a stub of t%d is pinned: %v, want %v", seed, i, u[d].tag,
							!want, want)
					} else if want {
						pins[index[key{i, d}]] = g.Pin(to)
						if to.Ref != ids[n.Ref] {
							t.Fatalf("seed %d: a pinned stub means %d, want %d", seed, to.Ref, ids[n.Ref])
						}
					}
				}
			}
			for i := range all {
				for j := range all {
					want := equal(i, j)
					if got := found[i] == found[j]; got != want {
						t.Fatalf("seed %d: %v and %v are one node: %v, want %v", seed, all[i], all[j], got, want)
					}
					none := types.Hash{}
					if pins[i] != none && pins[j] != none && (pins[i] == pins[j]) != want {
						t.Fatalf("seed %d: %v and %v have one pin: %v, want %v", seed, all[i], all[j], !want, want)
					}
				}
			}
			var hashes []types.Hash
			for _, n := range g.Nodes[1:] {
				hashes = append(hashes, n.Hash)
			}
			slices.SortFunc(hashes, types.Hash.Cmp)
			if round > 0 && !slices.Equal(hashes, nodes) {
				t.Fatalf("seed %d: the order of units or of their definitions matters: %d and %d nodes", seed,
					len(first.Nodes), len(g.Nodes))
			}
			first, nodes = g, hashes
		}
	}
}

// A pin depends on the definition, not on what else its unit holds.
func TestOthersDoNotShow(t *testing.T) {
	ring := func(extra ...definition) types.Hash {
		u := append(unit{
			{tag: 0, size: 1, refs: []reference{{1, 1}}}, {tag: 0, size: 2, refs: []reference{{0, 1}}},
		}, extra...)
		from, defs := u.build(rand.New(rand.NewPCG(uint64(len(u)), 0)).Perm(len(u)))
		g := types.New()
		ids := must.Get(Import(g, from, [][]types.ID{defs}))(t)
		for id := range from.Nodes {
			if n := from.Node(types.ID(id)); n.Kind == types.KindStub && n.Ref == defs[0] {
				return g.Pin(g.Node(ids[id]))
			}
		}
		return types.Hash{}
	}
	want := ring()
	for i, extra := range []unit{
		{{tag: 0, size: 3}},
		{{tag: 0, size: 1, refs: []reference{{2, 1}}}},                              // its own ring
		{{tag: 1, size: 1, refs: []reference{{0, 0}}}, {tag: 1, size: 1}},           // leads there
		{{tag: 1, size: 1, refs: []reference{{3, 0}}}, {tag: 1, size: 1}, {tag: 1}}, // a chain
		{{tag: 0, size: 1, refs: []reference{{3, 1}}}, {tag: 0, refs: []reference{{2, 1}}}},
	} {
		if got := ring(extra...); got != want {
			t.Errorf("with others (%d) the pin is %x, want %x", i, got, want)
		}
	}
}

// TestScopes: the references of a base don't depend on BTF that is based on it.
func TestScopes(t *testing.T) {
	g := types.New()
	s := g.Strs.Intern([]byte("s"))
	stub := func(number uint64, scope int) types.ID {
		return g.PinnedStub(types.TagStruct, s, Provisional(number, scope))
	}
	low := g.Add(types.Node{Kind: types.KindStruct, Name: s}, []types.Elem{{Ref: stub(1, 0)}})
	high := g.Add(types.Node{Kind: types.KindStruct, Name: s, Size: 8},
		[]types.Elem{{Ref: stub(1, 1)}, {Ref: stub(2, 1)}})
	for id, def := range map[types.ID]types.ID{stub(1, 0): low, stub(1, 1): low, stub(2, 1): high} {
		must.OK(t, g.Define(id, def))
	}
	to := types.New()
	ids := must.Get(Import(to, g, [][]types.ID{{low}, {high}}))(t)
	if n := to.Node(ids[stub(1, 0)]); n.Size != 0 {
		t.Error("the base's stub is pinned")
	}
	for id, def := range map[types.ID]types.ID{stub(1, 1): low, stub(2, 1): high} {
		if n := to.Node(ids[id]); n.Size != 1 || n.Ref != ids[def] {
			t.Errorf("stub %d means node %d, want a pin of %d", id, n.Ref, ids[def])
		}
	}
}

// In both units, two definitions of a tag differ in their first reference, and refer to each other
// and to themselves. The units differ only in the order of these references. One round
// distinguishes the two definitions, but not the units: hashes of a cycle need a further round.
func TestOrderInCycle(t *testing.T) {
	to := types.New()
	for _, order := range [][2]int{{2, 3}, {3, 2}} {
		u := unit{{tag: 1, size: 1}, {tag: 1, size: 2}, {}, {}}
		for i := range 2 {
			u[2+i].refs = []reference{{i, 0}, {order[0], 0}, {order[1], 0}}
		}
		g, defs := u.build([]int{0, 1, 2, 3})
		if _, err := Import(to, g, [][]types.ID{defs}); err != nil {
			t.Errorf("references in the order %d: %v", order, err)
		}
	}
}

// The work for a chain of definitions is proportional to its length, however long it is. In a
// cycle, each hash has to look as far as the place where the definitions differ, which can exceed
// the budget.
func TestBudget(t *testing.T) {
	chain := make(unit, 20000) // each differs from the others in how far the end is
	for i := range chain[1:] {
		chain[i+1].refs = []reference{{i, 0}}
	}
	cycle := slices.Clone(chain)
	cycle[0] = definition{size: 1, refs: []reference{{len(cycle) - 1, 0}}}
	for _, c := range []struct {
		name string
		unit unit
		want error
	}{{"chain", chain, nil}, {"cycle", cycle, refine.ErrBudget}} {
		perm := make([]int, len(c.unit))
		for i := range perm {
			perm[i] = i
		}
		g, defs := c.unit.build(perm)
		if _, err := Import(types.New(), g, [][]types.ID{defs}); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
	}
}
