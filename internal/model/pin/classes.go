package pin

import (
	"github.com/rules-btf/rules_btf/internal/model/refine"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// part is a set of nodes whose content leads to no others but by plain content.
type part struct {
	nodes  []types.ID
	hashes []types.Hash // of their content; none for stubs
	ids    []types.ID   // what they are in the other graph; nil: not added yet
}

// solve hashes the contents of nodes that are in. With each there are all that it leads to.
func (m *Importer) solve(nodes []types.ID) (*part, error) {
	classes, err := m.contents(nodes).classes(m.budget)
	if err != nil {
		return nil, err
	}
	pins, err := classes.hashes(m.budget)
	if err != nil {
		return nil, err
	}
	p := &part{nodes: nodes, hashes: make([]types.Hash, len(nodes))}
	next := 0
	for i, id := range nodes {
		if m.from.Nodes[id].Kind != types.KindStub {
			p.hashes[i] = pins.hash[pins.class[next]]
			next++
		}
	}
	return p, nil
}

// contents are the given nodes that are no stubs, in their order. Their content is not known before
// that of definitions: they lead to a stub that is in, or are what one means.
type contents struct{ refine.Graph }

// Placeholders in labels, for what has a content that is not known yet.
var (
	byPin   = types.Hash{A: 1, B: 1} // a stub that is in
	inShape = types.Hash{A: 2, B: 2} // a part of the shape
)

func (m *Importer) contents(nodes []types.ID) *contents {
	next := int32(0)
	for _, id := range nodes {
		if m.from.Nodes[id].Kind != types.KindStub {
			m.index[id] = next
			next++
		}
	}
	c := &contents{}
	of := func(id types.ID) types.Hash {
		n := m.from.Node(id)
		switch {
		case m.flags[id]&in == 0:
			return m.content[id]
		case n.Kind == types.KindStub:
			c.Refs = append(c.Refs, m.index[n.Ref])
			return byPin
		}
		c.Refs = append(c.Refs, m.index[id])
		return inShape
	}
	for _, id := range nodes {
		n := m.from.Node(id)
		if n.Kind == types.KindStub {
			continue
		}
		c.First = append(c.First, uint32(len(c.Refs)))
		c.Labels = append(c.Labels, m.from.HashWith(n, m.from.ElemsOf(n), of))
	}
	c.First = append(c.First, uint32(len(c.Refs)))
	return c
}

// classes are the nodes of contents by content: nodes of one class are equal.
type classes struct {
	*contents
	class []int32 // by node of contents
	rep   []int32 // by class: a node
}

func (c *contents) classes(budget *int) (*classes, error) {
	colours, err := c.ColoursWithin(budget)
	if err != nil {
		return nil, err
	}
	q := &classes{contents: c, class: make([]int32, len(colours))}
	byColour := map[types.Hash]int32{}
	for i, colour := range colours {
		class, ok := byColour[colour]
		if !ok {
			class = int32(len(q.rep))
			byColour[colour] = class
			q.rep = append(q.rep, int32(i))
		}
		q.class[i] = class
	}
	return q, nil
}

// refs appends the classes to which a class refers, in order.
func (q *classes) refs(class int32, buf []int32) []int32 {
	i := q.rep[class]
	for _, r := range q.Refs[q.First[i]:q.First[i+1]] {
		buf = append(buf, q.class[r])
	}
	return buf
}
