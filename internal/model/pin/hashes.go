package pin

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/model/refine"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// pins are complete hashes of content, cycles included.
type pins struct {
	*classes
	hash []types.Hash // by class
}

// hashes hashes all classes: those that refer to each other together, after all others that they
// refer to.
func (q *classes) hashes(budget *int) (*pins, error) {
	p := &pins{classes: q, hash: make([]types.Hash, len(q.rep))}
	local := make([]int32, len(q.rep)) // by class: its number in the present component, from 1
	var err error
	refine.Components(len(q.rep), q.refs, func(component []int32) {
		if err == nil {
			err = p.hashComponent(component, local, budget)
		}
	})
	return p, err
}

// hashComponent hashes the classes of a strongly connected component. A colour tells a class from
// the others of the component, but looks only as deep as refinement took rounds. Each class's
// colour together with that of one more round spells out how they all refer to each other, so with
// the list of these a colour describes its class completely.
func (p *pins) hashComponent(component []int32, local []int32, budget *int) error {
	for i, class := range component {
		local[class] = int32(i + 1)
	}
	var g refine.Graph
	var refs []int32
	for _, class := range component {
		g.Labels = append(g.Labels, p.Labels[p.rep[class]])
		g.First = append(g.First, uint32(len(g.Refs)))
		refs = p.refs(class, refs[:0])
		for _, r := range refs {
			if local[r] != 0 {
				g.Refs = append(g.Refs, local[r]-1)
			} else {
				g.Refs = append(g.Refs, ^int32(len(g.Outside)))
				g.Outside = append(g.Outside, p.hash[r])
			}
		}
	}
	g.First = append(g.First, uint32(len(g.Refs)))
	now, err := g.ColoursWithin(budget)
	if err != nil {
		return err
	}
	next := make([]types.Hash, len(now))
	g.Round(now, next)

	order := make([]int, len(now))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return now[a].Cmp(now[b]) })
	all := types.Start(types.KindStub, 0, 0, types.Hash{}, types.Hash{})
	for _, i := range order {
		all.Elem(now[i], next[i], 0)
	}
	system := all.Sum(false)
	for i, class := range component {
		h := types.Start(types.KindStub, 0, 0, now[i], system)
		p.hash[class] = h.Sum(false)
		local[class] = 0
	}
	return nil
}
