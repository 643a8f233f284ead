package pin

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/model/refine"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// part is a set of nodes. If these refer to other nodes, the other nodes contain no pins.
type part struct {
	nodes  []types.ID
	hashes []types.Hash // hashes of the content of nodes; none for stubs
	ids    []types.ID   // copies of nodes in the other graph; nil until added
}

// solve hashes the contents of the given nodes, which all have the flag "in". If one of them leads
// to another node with this flag, that other node must also be given.
func (m *Importer) solve(nodes []types.ID) (*part, error) {
	c := classes{budget: m.budget}
	c.Graph = m.contents(nodes)
	c.find()
	if err := c.hashAll(); err != nil {
		return nil, err
	}
	p := &part{nodes: nodes, hashes: make([]types.Hash, len(nodes))}
	next := 0
	for i, id := range nodes {
		if m.from.Nodes[id].Kind != types.KindStub {
			p.hashes[i] = c.hash[c.class[next]]
			next++
		}
	}
	return p, nil
}

// These are placeholders in labels, for parts whose content is not known yet.
var (
	byPin   = types.Hash{A: 1, B: 1} // a stub with the flag "in"
	inShape = types.Hash{A: 2, B: 2} // a part of the shape
)

// contents returns the graph of the given nodes without the stubs, in the order of nodes.
// References to stubs with the flag "in" become references to these stubs' definitions.
func (m *Importer) contents(nodes []types.ID) refine.Graph {
	next := int32(0)
	for _, id := range nodes {
		if m.from.Nodes[id].Kind != types.KindStub {
			m.index[id] = next
			next++
		}
	}
	var g refine.Graph
	of := func(id types.ID) types.Hash {
		n := m.from.Node(id)
		switch {
		case m.flags[id]&in == 0:
			return m.content[id]
		case n.Kind == types.KindStub:
			g.Refs = append(g.Refs, m.index[n.Ref])
			return byPin
		}
		g.Refs = append(g.Refs, m.index[id])
		return inShape
	}
	for _, id := range nodes {
		n := m.from.Node(id)
		if n.Kind == types.KindStub {
			continue
		}
		g.First = append(g.First, uint32(len(g.Refs)))
		g.Labels = append(g.Labels, n.HashWith(&m.from.Strs, m.from.ElemsOf(n), of))
	}
	g.First = append(g.First, uint32(len(g.Refs)))
	return g
}

// classes groups the nodes of a graph by content: nodes of the same class are equal.
type classes struct {
	refine.Graph
	class  []uint32     // by node
	rep    []int32      // by class: a node
	hash   []types.Hash // by class: hash of the complete content, cycles included
	local  []int32      // by class: its number in the current component, from 1
	inner  refine.Graph // the current component
	order  []int        // the classes of the component, by colour
	budget *int
}

func (c *classes) find() {
	labels, refs := make([]uint32, len(c.Labels)), make([]uint32, len(c.Refs))
	numbers := map[types.Hash]uint32{}
	for i, label := range c.Labels {
		n, ok := numbers[label]
		if !ok {
			n = uint32(len(numbers))
			numbers[label] = n
		}
		labels[i] = n
	}
	for i, r := range c.Refs {
		refs[i] = uint32(r)
	}
	class, count := refine.Classes(labels, c.First, refs)
	c.class, c.rep = class, make([]int32, count)
	for i, class := range class {
		c.rep[class] = int32(i)
	}
}

// hashAll fills in hash. It hashes the classes of a cycle together, after all other classes to
// which they refer.
func (c *classes) hashAll() (err error) {
	c.hash, c.local = make([]types.Hash, len(c.rep)), make([]int32, len(c.rep))
	refine.Components(len(c.rep), c.refs, func(component []int32) {
		if err == nil {
			err = c.hashComponent(component)
		}
	})
	return err
}

// refs appends the classes that a class refers to, in order.
func (c *classes) refs(class int32, buf []int32) []int32 {
	i := c.rep[class]
	for _, r := range c.Refs[c.First[i]:c.First[i+1]] {
		buf = append(buf, int32(c.class[r]))
	}
	return buf
}

// hashComponent hashes the classes of a strongly connected component. The colour of a class
// distinguishes it from the other classes of the component, but depends only on references up to a
// depth: the number of rounds of the refinement. The list of all colours, each paired with the
// class's colour after one more round, shows how the classes refer to each other. So a colour and
// this list describe a class completely.
func (c *classes) hashComponent(component []int32) error {
	for i, class := range component {
		c.local[class] = int32(i + 1)
	}
	g := &c.inner
	*g = refine.Graph{Labels: g.Labels[:0], First: g.First[:0], Refs: g.Refs[:0],
		Outside: g.Outside[:0]}
	for _, class := range component {
		i := c.rep[class]
		g.Labels = append(g.Labels, c.Labels[i])
		g.First = append(g.First, uint32(len(g.Refs)))
		for _, r := range c.Refs[c.First[i]:c.First[i+1]] {
			if r := c.class[r]; c.local[r] != 0 {
				g.Refs = append(g.Refs, c.local[r]-1)
			} else {
				g.Refs = append(g.Refs, ^int32(len(g.Outside)))
				g.Outside = append(g.Outside, c.hash[r])
			}
		}
	}
	g.First = append(g.First, uint32(len(g.Refs)))
	now, err := g.ColoursWithin(c.budget)
	if err != nil {
		return err
	}
	next := now
	if len(g.Refs) > len(g.Outside) { // a cycle
		next = make([]types.Hash, len(now))
		g.Round(now, next)
	}
	c.order = c.order[:0]
	for i := range now {
		c.order = append(c.order, i)
	}
	slices.SortFunc(c.order, func(a, b int) int { return now[a].Cmp(now[b]) })
	all := types.Start(types.KindStub, 0, 0, types.Hash{}, types.Hash{})
	for _, i := range c.order {
		all.Elem(now[i], next[i], 0)
	}
	system := all.Sum(false)
	for i, class := range component {
		c.hash[class] = types.Start(types.KindStub, 0, 0, now[i], system).Sum(false)
		c.local[class] = 0
	}
	return nil
}
