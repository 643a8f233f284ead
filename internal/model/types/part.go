package types

import "math/bits"

// Snapshot returns a graph of the current nodes and strings of g. It can be read while g grows, but
// it doesn't support look-ups or additions. A pinned stub must be defined before it is read.
func (g *Graph) Snapshot() *Graph {
	return &Graph{Nodes: g.Nodes, Elems: g.Elems,
		Strs: Strings{bytes: g.Strs.bytes, ends: g.Strs.ends, hash: g.Strs.hash}}
}

// Freeze frees the indexes. From now on, g doesn't support look-ups or additions.
func (g *Graph) Freeze() { g.index, g.Strs.index = nil, nil }

// Parter copies parts of graphs. It reuses its memory for the next part.
type Parter struct {
	wanted []uint64 // one bit per node
	ids    []ID     // by wanted node: the copy
	strs   []Str    // by string: the copy, 0 if there is none
	copied []Str    // the strings that have a copy
}

// Part returns a graph of the roots and of the nodes to which they lead, in the order of g, with
// their names. Afterwards, ID returns the copy of a node of g.
func (p *Parter) Part(g *Graph, roots func(yield func(ID) bool)) *Graph {
	p.reset(g)
	p.wanted[0] = 1 // void
	for id := range roots {
		p.wanted[id/64] |= 1 << (id % 64)
	}
	p.close(g)
	nodes, elems := p.assignIDs(g)
	part := &Graph{Nodes: make([]Node, 0, nodes+1), Elems: make([]Elem, 0, elems)}
	part.Strs.initList(nodes + elems/3) // more than nearly all modules need
	p.eachWanted(func(id ID) {
		n := g.Nodes[id]
		first := len(part.Elems)
		for _, e := range g.ElemsOf(&n) {
			if n.Kind != KindStub { // the elements of a stub are its pin
				e.Name, e.Ref = p.str(g, part, e.Name), p.ids[e.Ref]
			}
			part.Elems = append(part.Elems, e)
		}
		n.Name, n.Ref, n.First = p.str(g, part, n.Name), p.ids[n.Ref], uint32(first)
		part.Nodes = append(part.Nodes, n)
	})
	part.fillIndex(nodes)
	part.Strs.fillIndex(part.Strs.Len())
	return part
}

// ID returns the node of the last part that is a copy of id.
func (p *Parter) ID(id ID) ID { return p.ids[id] }

// str returns the copy, in the graph part, of string s of g. The strings of part have no index yet.
func (p *Parter) str(g, part *Graph, s Str) Str {
	if s == 0 || p.strs[s] != 0 {
		return p.strs[s]
	}
	p.strs[s] = part.Strs.add(g.Strs.Bytes(s), g.Strs.hash[s])
	p.copied = append(p.copied, s)
	return p.strs[s]
}

// reset forgets the last part, and makes room for a part of g.
func (p *Parter) reset(g *Graph) {
	for _, s := range p.copied {
		p.strs[s] = 0
	}
	p.copied = p.copied[:0]
	clear(p.wanted)
	if n := len(g.Nodes); n > len(p.ids) {
		p.ids, p.wanted = make([]ID, n+n/4), make([]uint64, (n+n/4)/64+1)
	}
	if n := g.Strs.Len(); n > len(p.strs) {
		p.strs = make([]Str, n+n/4)
	}
}

// close adds all nodes to which wanted nodes lead. All references lead to nodes with smaller IDs,
// except those of pinned stubs.
func (p *Parter) close(g *Graph) {
	want := func(id ID) { p.wanted[id/64] |= 1 << (id % 64) }
	for i := len(p.wanted) - 1; i >= 0; i-- {
		from := i
		for rest := p.wanted[i]; rest != 0; {
			bit := bits.Len64(rest) - 1
			n := &g.Nodes[i*64+bit]
			if n.Kind == KindStub && p.wanted[n.Ref/64]>>(n.Ref%64)&1 == 0 {
				from = max(from, int(n.Ref/64))
			}
			want(n.Ref)
			if n.Kind != KindStub {
				for _, e := range g.ElemsOf(n) {
					want(e.Ref)
				}
			}
			rest = p.wanted[i] & (1<<bit - 1)
		}
		if from > i {
			i = from + 1 // continue from there
		}
	}
}

// assignIDs numbers the wanted nodes, and returns how many nodes and elements they have in all.
func (p *Parter) assignIDs(g *Graph) (nodes, elems int) {
	p.eachWanted(func(id ID) {
		p.ids[id] = ID(nodes)
		nodes++
		elems += int(g.Nodes[id].Count)
	})
	return nodes, elems
}

// eachWanted calls do with each wanted node, in order.
func (p *Parter) eachWanted(do func(id ID)) {
	for i, word := range p.wanted {
		for ; word != 0; word &= word - 1 {
			do(ID(i*64 + bits.TrailingZeros64(word)))
		}
	}
}
