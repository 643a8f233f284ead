package types

import (
	"iter"
	"math/bits"
)

// Snapshot returns a graph of the current nodes and strings of g. It can be read while g grows, but
// it doesn't support look-ups or additions. A pinned stub must be defined before it is read.
func (g *Graph) Snapshot() *Graph {
	return &Graph{Nodes: g.Nodes, Elems: g.Elems,
		Strs: Strings{bytes: g.Strs.bytes, ends: g.Strs.ends, hash: g.Strs.hash}}
}

// Parter copies parts of graphs. It reuses its memory for the next part.
type Parter struct{ nodes, strs subset }

// Part returns a graph of the roots and of the nodes to which they lead, with their names. Nodes
// and names keep their order. Afterwards, ID returns the copy of a node of g.
func (p *Parter) Part(g *Graph, roots iter.Seq[ID]) *Graph {
	p.nodes.reset(len(g.Nodes))
	p.strs.reset(g.Strs.Len())
	p.nodes.add(0) // void
	p.strs.add(0)  // the empty name
	for id := range roots {
		p.nodes.add(uint32(id))
	}
	p.close(g)
	part := p.copyNodes(g)
	part.Strs.copyPart(&g.Strs, &p.strs)
	p.translate(part)
	part.fillIndex(len(part.Nodes))
	part.Strs.fillIndex(part.Strs.Len())
	return part
}

// ID returns the node of the last part that is a copy of id.
func (p *Parter) ID(id ID) ID { return ID(p.nodes.rank(uint32(id))) }

func (p *Parter) str(s Str) Str { return Str(p.strs.rank(uint32(s))) }

// close adds all nodes to which the nodes lead, and all names. All references lead to nodes with
// smaller IDs, except those of pinned stubs.
func (p *Parter) close(g *Graph) {
	words := p.nodes.words
	for i := len(words) - 1; i >= 0; i-- {
		from := i
		for rest := words[i]; rest != 0; {
			bit := bits.Len64(rest) - 1
			n := &g.Nodes[i*64+bit]
			if n.Kind == KindStub && !p.nodes.has(uint32(n.Ref)) {
				from = max(from, int(n.Ref/64))
			}
			p.nodes.add(uint32(n.Ref))
			p.strs.add(uint32(n.Name))
			for _, e := range g.ElemsOf(n) { // the elements of a stub, its pin, refer to nothing
				p.nodes.add(uint32(e.Ref))
				p.strs.add(uint32(e.Name))
			}
			rest = words[i] & (1<<bit - 1)
		}
		if from > i {
			i = from + 1 // continue from there
		}
	}
}

// copyNodes returns a graph of the nodes and their elements, which still refer to nodes and names
// of g.
func (p *Parter) copyNodes(g *Graph) *Graph {
	nodes, elems := p.nodes.number(), 0
	for first, end := range p.nodes.runs {
		elems += len(g.elemsOfRun(first, end))
	}
	part := &Graph{Nodes: make([]Node, 0, nodes), Elems: make([]Elem, 0, elems)}
	for first, end := range p.nodes.runs {
		part.Nodes = append(part.Nodes, g.Nodes[first:end]...)
		part.Elems = append(part.Elems, g.elemsOfRun(first, end)...)
	}
	return part
}

// elemsOfRun returns the elements of the nodes from first up to, but not including, end. They are
// together, because AddHashed adds the elements of a node together with the node.
func (g *Graph) elemsOfRun(first, end uint32) []Elem {
	last := &g.Nodes[end-1]
	return g.Elems[g.Nodes[first].First : last.First+last.Count]
}

// translate replaces references to nodes and names of the original by those of the part.
func (p *Parter) translate(part *Graph) {
	first := uint32(0)
	for i := range part.Nodes {
		n := &part.Nodes[i]
		n.Name, n.Ref, n.First = p.str(n.Name), p.ID(n.Ref), first
		first += n.Count
	}
	for i := range part.Elems {
		e := &part.Elems[i]
		e.Name, e.Ref = p.str(e.Name), p.ID(e.Ref)
	}
}

// copyPart makes s a copy of some strings, without an index.
func (s *Strings) copyPart(from *Strings, which *subset) {
	n, size := which.number(), 0
	for first, end := range which.runs {
		size += len(from.bytesOfRun(first, end))
	}
	const more = 16 // the link adds a few names
	s.bytes = make([]byte, 0, size+size/more)
	s.ends = make([]uint32, 0, n+n/more)
	s.hash = make([]Hash, 0, n+n/more)
	for first, end := range which.runs {
		text := from.bytesOfRun(first, end)
		moved := uint32(len(s.bytes)+len(text)) - from.ends[end-1] // may wrap around
		s.bytes = append(s.bytes, text...)
		for _, at := range from.ends[first:end] {
			s.ends = append(s.ends, at+moved)
		}
		s.hash = append(s.hash, from.hash[first:end]...)
	}
}

// bytesOfRun returns the content of the strings from first up to, but not including, end.
func (s *Strings) bytesOfRun(first, end uint32) []byte {
	begin := uint32(0)
	if first > 0 {
		begin = s.ends[first-1]
	}
	return s.bytes[begin:s.ends[end-1]]
}
