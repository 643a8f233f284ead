package diff

import (
	"cmp"
	"slices"
)

// classes numbers the nodes, from 0 up to the count, so that two have one number exactly if they
// have equal content: equal labels, and children of equal content, cycles included (the coarsest
// bisimulation).
//
// It begins with the labels and splits classes until no class holds nodes whose children are in
// different ones. After a split the largest part keeps its number, so that only nodes that refer to
// the smaller parts have to be looked at again: O(edges × log² nodes).
func (g *graph) classes() (class []uint32, count int) {
	r := newRefiner(g)
	for len(r.work) > 0 {
		work := r.work
		r.work = nil
		for _, c := range work {
			r.split(c)
		}
	}
	return r.class, len(r.parts)
}

// refiner is a partition of the nodes. Nodes are dirty if the class of a child may have changed
// since their own class was split. The others of a class have children of the same classes.
type refiner struct {
	*graph
	class   []uint32 // of each node
	order   []uint32 // the nodes, class by class
	at      []uint32 // of each node: its index in order
	parts   []part   // of each class: its nodes
	work    []uint32 // the classes with dirty nodes
	parents []uint32 // who refers to n: parents[begin[n]:begin[n+1]]
	begin   []uint32
}

// part is the nodes of a class: order[begin:clean] are dirty, order[clean:end] are not.
type part struct{ begin, clean, end uint32 }

func newRefiner(g *graph) *refiner {
	n := uint32(len(g.nodes))
	r := &refiner{graph: g, class: slices.Clone(g.label), at: make([]uint32, n)}
	var starts []uint32
	r.order, starts = bucket(n, r.class)
	for i, node := range r.order {
		r.at[node] = uint32(i)
	}
	for c, begin := range starts[:slices.Max(r.class)+1] {
		r.parts = append(r.parts, part{begin, begin, starts[c+1]})
	}
	from := make([]uint32, len(g.kids))
	for p := range n {
		for i := g.first[p]; i < g.first[p+1]; i++ {
			from[i] = p
		}
	}
	r.parents, r.begin = bucket(n, g.kids)
	for i, edge := range r.parents {
		r.parents[i] = from[edge]
	}
	for node := range n {
		r.mark(node)
	}
	return r
}

// bucket sorts the indices of keys, which are below n, by key: those of k are
// sorted[begin[k]:begin[k+1]].
func bucket(n uint32, keys []uint32) (sorted, begin []uint32) {
	begin = make([]uint32, n+1)
	for _, k := range keys {
		begin[k+1]++
	}
	for k := range n {
		begin[k+1] += begin[k]
	}
	sorted = make([]uint32, len(keys))
	next := slices.Clone(begin)
	for i, k := range keys {
		sorted[next[k]] = uint32(i)
		next[k]++
	}
	return sorted, begin
}

// mark makes a node dirty; one that is alone in its class can't be told from others.
func (r *refiner) mark(n uint32) {
	c := r.class[n]
	p := &r.parts[c]
	i := r.at[n]
	if i < p.clean || p.end-p.begin == 1 {
		return
	}
	if p.clean == p.begin {
		r.work = append(r.work, c)
	}
	first := r.order[p.clean]
	r.order[i], r.order[p.clean] = first, n
	r.at[first], r.at[n] = i, p.clean
	p.clean++
}

// split splits a class by the classes of its nodes' children.
func (r *refiner) split(c uint32) {
	whole := r.parts[c]
	dirty := r.order[whole.begin:whole.clean]
	slices.SortFunc(dirty, r.compare)
	var parts []part
	for i := whole.begin; i < whole.clean; {
		end := i + 1
		for end < whole.clean && r.compare(r.order[i], r.order[end]) == 0 {
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
	for i, n := range dirty {
		r.at[n] = whole.begin + uint32(i)
	}
	r.parts[c] = largest
	var moved []uint32
	for _, p := range parts {
		if p == largest {
			continue
		}
		for _, n := range r.order[p.begin:p.end] {
			r.class[n] = uint32(len(r.parts))
			moved = append(moved, n)
		}
		r.parts = append(r.parts, p)
	}
	for _, n := range moved {
		for _, p := range r.parents[r.begin[n]:r.begin[n+1]] {
			r.mark(p)
		}
	}
}

// compare compares the classes of two nodes' children.
func (r *refiner) compare(a, b uint32) int {
	return slices.CompareFunc(r.children(a), r.children(b), func(x, y uint32) int {
		return cmp.Compare(r.class[x], r.class[y])
	})
}
