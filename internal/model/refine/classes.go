package refine

import (
	"cmp"
	"slices"

	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Classes sorts the nodes of a graph into classes, which are numbered from 0 to count-1. Two nodes
// are in the same class if and only if they have equal labels and refer, in order, to nodes of the
// same classes. That holds for cycles too: the result is the coarsest bisimulation. The labels must
// be 0, 1, 2 and so on without gaps. Node i refers to the nodes refs[first[i]:first[i+1]].
//
// Classes begins with a class for each label, and splits classes until all nodes of a class refer
// to the same classes. After a split, the largest part keeps its number, so only nodes that refer
// to the smaller parts are examined again. This algorithm takes O(references × log² nodes).
//
// The numbers of the classes depend on those of the labels, on the references, and on how many
// equal nodes there are, but not on the numbers of the nodes.
func Classes(labels, first, refs []uint32) (class []uint32, count int) {
	p := newPartition(labels, first, refs)
	for len(p.work) > 0 {
		work := p.work
		p.work = nil
		slices.Sort(work)
		for _, c := range work {
			p.split(c)
		}
	}
	return p.class, len(p.parts)
}

// partition has the nodes of a graph, sorted into classes. A node is dirty if a node that it refers
// to may have changed its class since the dirty node's own class was last split. The clean nodes of
// a class all refer to the same classes.
type partition struct {
	first   []uint32 // as for Classes
	refs    []uint32
	class   []uint32 // class of each node
	order   []uint32 // the nodes, class by class
	at      []uint32 // of each node: its index in order
	parts   []part   // of each class: its nodes
	work    []uint32 // classes with dirty nodes
	parents []uint32 // parents[begin[n]:begin[n+1]] refer to n
	begin   []uint32
}

// part has the nodes of a class: order[begin:clean] are dirty, order[clean:end] are clean.
type part struct{ begin, clean, end uint32 }

func newPartition(labels, first, refs []uint32) *partition {
	n := uint32(len(labels))
	p := &partition{first: first, refs: refs, class: slices.Clone(labels), at: make([]uint32, n)}
	var starts []uint32
	nodes := make([]uint32, n)
	for i := range nodes {
		nodes[i] = uint32(i)
	}
	p.order, starts = types.Buckets(nodes, int(n), func(i uint32) uint32 { return labels[i] })
	for i, node := range p.order {
		p.at[node] = uint32(i)
	}
	for c := uint32(0); c < n && starts[c] < n; c++ {
		p.parts = append(p.parts, part{starts[c], starts[c], starts[c+1]})
	}
	begin := make([]uint32, n+2) // shifted by one, because filling increases each beginning
	for _, to := range refs {
		begin[to+2]++
	}
	for to := range n {
		begin[to+2] += begin[to+1]
	}
	p.parents = make([]uint32, len(refs))
	for node := range n {
		for _, to := range refs[first[node]:first[node+1]] {
			p.parents[begin[to+1]] = node
			begin[to+1]++
		}
	}
	p.begin = begin[:n+1]
	for node := range n {
		p.mark(node)
	}
	return p
}

// mark makes a node dirty, unless it is alone in its class, which then can't be split.
func (p *partition) mark(n uint32) {
	c, i := p.class[n], p.at[n]
	of := &p.parts[c]
	if i < of.clean || of.end-of.begin == 1 {
		return
	}
	if of.clean == of.begin {
		p.work = append(p.work, c)
	}
	other := p.order[of.clean]
	p.order[i], p.order[of.clean] = other, n
	p.at[other], p.at[n] = i, of.clean
	of.clean++
}

// split splits a class by the classes that its nodes refer to.
func (p *partition) split(c uint32) {
	whole := p.parts[c]
	dirty := p.order[whole.begin:whole.clean]
	slices.SortFunc(dirty, p.compare)
	for i, n := range dirty {
		p.at[n] = whole.begin + uint32(i)
	}
	var parts []part
	for i := whole.begin; i < whole.clean; {
		end := i + 1
		for end < whole.clean && p.compare(p.order[i], p.order[end]) == 0 {
			end++
		}
		parts = append(parts, part{i, i, end})
		i = end
	}
	if whole.clean < whole.end {
		parts = append(parts, part{whole.clean, whole.clean, whole.end})
	}
	largest := slices.MaxFunc(parts, func(a, b part) int {
		return cmp.Compare(a.end-a.begin, b.end-b.begin)
	})
	p.parts[c] = largest
	var moved []uint32
	for _, new := range parts {
		if new == largest {
			continue
		}
		for _, n := range p.order[new.begin:new.end] {
			p.class[n] = uint32(len(p.parts))
			moved = append(moved, n)
		}
		p.parts = append(p.parts, new)
	}
	for _, n := range moved {
		for _, parent := range p.parents[p.begin[n]:p.begin[n+1]] {
			p.mark(parent)
		}
	}
}

// compare compares the classes that two nodes refer to.
func (p *partition) compare(a, b uint32) int {
	x, y := p.refs[p.first[a]:p.first[a+1]], p.refs[p.first[b]:p.first[b+1]]
	return slices.CompareFunc(x, y, func(i, j uint32) int {
		return cmp.Compare(p.class[i], p.class[j])
	})
}
