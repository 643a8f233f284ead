package pin

import (
	"github.com/rules-btf/rules_btf/internal/refine"
	"github.com/rules-btf/rules_btf/internal/types"
)

// contents are the nodes whose content is not known before that of definitions: those that lead to
// a pinned stub, and the definitions themselves.
type contents struct {
	refine.Graph
	// by node of the graph of types: its number here, -1 for the others; and their content
	index   []int32
	content []types.Hash
}

// Placeholders in labels, for what has a content that is not known yet.
var (
	byPin   = types.Hash{A: 1, B: 1} // a pinned stub
	inShape = types.Hash{A: 2, B: 2} // a part of the shape
)

// contents finds them, where pinned tells which stubs are.
func (p *pinner) contents(pinned func(*types.Node) bool) *contents {
	g := p.g
	in := make([]bool, len(g.Nodes))
	var refs []types.ID
	for i := 1; i < len(in); i++ {
		id := types.ID(i)
		if n := g.Node(id); n.Kind == types.KindStub {
			in[i] = pinned(n)
			continue
		}
		refs = g.Refs(id, refs[:0])
		for _, r := range refs {
			in[i] = in[i] || in[r]
		}
	}
	for i := range in {
		if n := &g.Nodes[i]; n.Kind == types.KindStub && in[i] {
			in[n.Ref] = true
		}
	}

	c := &contents{index: make([]int32, len(in))}
	nodes := int32(0)
	for i := range in {
		c.index[i] = -1
		if in[i] && g.Nodes[i].Kind != types.KindStub {
			c.index[i] = nodes
			nodes++
		}
	}
	c.content = make([]types.Hash, len(in))
	of := func(id types.ID) types.Hash {
		n := g.Node(id)
		switch {
		case !in[id]:
			return c.content[id]
		case n.Kind == types.KindStub:
			c.Refs = append(c.Refs, c.index[n.Ref])
			return byPin
		}
		c.Refs = append(c.Refs, c.index[id])
		return inShape
	}
	for i := 1; i < len(in); i++ {
		n := &g.Nodes[i]
		if n.Kind == types.KindStub {
			c.content[i] = types.HashStub(types.Tag(n.Aux), g.Strs.Hash(n.Name))
			continue
		}
		first := len(c.Refs)
		c.content[i] = g.HashWith(n, g.ElemsOf(n), of)
		if in[i] {
			c.First = append(c.First, uint32(first))
			c.Labels = append(c.Labels, c.content[i])
		} else {
			c.Refs = c.Refs[:first]
		}
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

// of returns the class of a node of the graph of types.
func (q *classes) of(id types.ID) int32 { return q.class[q.index[id]] }

// same tells whether two definitions, or declarations, are equal.
func (q *classes) same(a, b types.ID) bool {
	x, y := q.index[a], q.index[b]
	if x < 0 || y < 0 {
		return q.content[a] == q.content[b]
	}
	return q.class[x] == q.class[y]
}

// refs appends the classes to which a class refers, in order.
func (q *classes) refs(class int32, buf []int32) []int32 {
	i := q.rep[class]
	for _, r := range q.Refs[q.First[i]:q.First[i+1]] {
		buf = append(buf, q.class[r])
	}
	return buf
}
