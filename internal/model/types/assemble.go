package types

import "bytes"

// Assemble returns a graph of these nodes and elements, without copying them. The caller vouches
// for what Add would ensure: nodes[0] is void, all nodes are different, with the right hashes and
// depths, and come after the nodes to which they refer.
//
// The names of the graph are those in text, each followed by a NUL byte; string i has hashes[i].
// They must be different, and sorted: if they aren't, Assemble returns nil. The function all must
// run the steps, on any threads.
func Assemble(nodes []Node, elems []Elem, text []byte, hashes []Hash,
	all func(steps ...func())) *Graph {
	g := &Graph{Nodes: nodes, Elems: elems}
	g.Strs.hash = hashes
	sorted := false
	all(func() { g.fillIndex(len(nodes)) }, func() { g.Strs.fillIndex(len(hashes)) },
		func() { sorted = g.Strs.fill(text, len(hashes)) })
	if !sorted {
		return nil
	}
	return g
}

// fill adds the names in text, n with the empty name, but not to the index. It reports whether the
// names are sorted.
func (s *Strings) fill(text []byte, n int) bool {
	s.bytes, s.ends = make([]byte, 0, len(text)), append(make([]uint32, 0, n), 0)
	var last []byte
	for len(text) > 0 {
		name, rest, _ := bytes.Cut(text, []byte{0})
		if text = rest; len(name) == 0 {
			continue
		}
		if bytes.Compare(last, name) >= 0 {
			return false
		}
		last = name
		s.bytes = append(s.bytes, name...)
		s.ends = append(s.ends, uint32(len(s.bytes)))
	}
	return len(s.ends) == n
}
