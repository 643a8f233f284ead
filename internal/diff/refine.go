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
// the smaller parts have to be looked at again: O(edges × log nodes). Hashes only sort; equality is
// compared.
func (g *graph) classes() (class []uint32, count int) {
	r := newRefiner(g)
	for len(r.dirty) > 0 {
		r.round()
	}
	return r.class, len(r.size)
}

type refiner struct {
	g       *graph
	class   []uint32
	size    []uint32 // of each class
	head    []uint32 // of each class: its first node
	next    []uint32 // the next node of the same class
	prev    []uint32
	parents []uint32 // who refers to n: parents[begin[n]:begin[n+1]]
	begin   []uint32
	dirty   []uint32 // nodes with a child whose class changed
	marked  []bool   // whether a node is in dirty
	entries []entry
	moved   []uint32
}

// entry is a dirty node with the hash of its children's classes.
type entry struct {
	class uint32
	node  uint32
	hash  uint64
}

func newRefiner(g *graph) *refiner {
	n := len(g.nodes)
	r := &refiner{g: g, class: slices.Clone(g.label), marked: make([]bool, n),
		begin: make([]uint32, n+1)}
	r.next, r.prev = make([]uint32, n), make([]uint32, n)
	for i, l := range r.class {
		for int(l) >= len(r.size) {
			r.newClass()
		}
		r.link(uint32(i), l)
	}
	for _, k := range g.kids {
		r.begin[k+1]++
	}
	for i := range n {
		r.begin[i+1] += r.begin[i]
	}
	r.parents = make([]uint32, len(g.kids))
	next := slices.Clone(r.begin)
	for p := range uint32(n) {
		for _, k := range g.children(p) {
			r.parents[next[k]] = p
			next[k]++
		}
	}
	for i := range uint32(n) {
		r.mark(i)
	}
	return r
}

// none ends a list of nodes.
const none = ^uint32(0)

func (r *refiner) newClass() uint32 {
	r.size, r.head = append(r.size, 0), append(r.head, none)
	return uint32(len(r.size) - 1)
}

func (r *refiner) link(n, class uint32) {
	h := r.head[class]
	r.next[n], r.prev[n] = h, none
	if h != none {
		r.prev[h] = n
	}
	r.head[class] = n
	r.class[n] = class
	r.size[class]++
}

func (r *refiner) unlink(n uint32) {
	class, p, x := r.class[n], r.prev[n], r.next[n]
	if p == none {
		r.head[class] = x
	} else {
		r.next[p] = x
	}
	if x != none {
		r.prev[x] = p
	}
	r.size[class]--
}

// mark notes a node to be looked at; one that is alone in its class need not be.
func (r *refiner) mark(n uint32) {
	if !r.marked[n] && r.size[r.class[n]] > 1 {
		r.marked[n] = true
		r.dirty = append(r.dirty, n)
	}
}

func (r *refiner) round() {
	r.entries, r.moved = r.entries[:0], r.moved[:0]
	for _, n := range r.dirty {
		r.entries = append(r.entries, entry{r.class[n], n, r.hash(n)})
	}
	r.dirty = r.dirty[:0]
	slices.SortFunc(r.entries, func(a, b entry) int {
		if a.class != b.class {
			return cmp.Compare(a.class, b.class)
		}
		if a.hash != b.hash {
			return cmp.Compare(a.hash, b.hash)
		}
		return cmp.Compare(a.node, b.node)
	})
	// Groups are found by the classes as they were when the round began; only then do numbers
	// change.
	var groups [][]entry
	for rest := r.entries; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].class == rest[0].class {
			n++
		}
		groups = r.split(groups, rest[:n])
		rest = rest[n:]
	}
	for _, e := range r.entries {
		r.marked[e.node] = false
	}
	for _, grp := range groups {
		id := r.newClass()
		for _, e := range grp {
			r.unlink(e.node)
			r.link(e.node, id)
			r.moved = append(r.moved, e.node)
		}
	}
	for _, n := range r.moved {
		for _, p := range r.parents[r.begin[n]:r.begin[n+1]] {
			r.mark(p)
		}
	}
}

// split appends the groups of one class's dirty nodes that leave the class: all but the largest,
// where the nodes that are not dirty are a group too.
func (r *refiner) split(out [][]entry, run []entry) [][]entry {
	base := len(out)
	for i := 0; i < len(run); {
		j := i + 1
		same := true
		for j < len(run) && run[j].hash == run[i].hash {
			same = same && r.compare(run[i].node, run[j].node) == 0
			j++
		}
		if !same { // a hash collision
			slices.SortFunc(run[i:j], func(a, b entry) int { return r.compare(a.node, b.node) })
			for k := i + 1; k < j; k++ {
				if r.compare(run[k-1].node, run[k].node) != 0 {
					out = append(out, run[i:k])
					i = k
				}
			}
		}
		out = append(out, run[i:j])
		i = j
	}
	largest := base
	for i := base; i < len(out); i++ {
		if len(out[i]) > len(out[largest]) {
			largest = i
		}
	}
	clean := int(r.size[run[0].class]) - len(run)
	if len(out[largest]) <= clean {
		return out
	}
	if clean == 0 {
		return slices.Delete(out, largest, largest+1)
	}
	rest := make([]entry, 0, clean)
	for n := r.head[run[0].class]; n != none; n = r.next[n] {
		if !r.marked[n] {
			rest = append(rest, entry{class: run[0].class, node: n})
		}
	}
	out[largest] = rest
	return out
}

func (r *refiner) hash(n uint32) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, k := range r.g.children(n) {
		h = (h ^ uint64(r.class[k])) * 0xff51afd7ed558ccd
		h ^= h >> 32
	}
	return h
}

// compare compares the classes of two nodes' children.
func (r *refiner) compare(a, b uint32) int {
	x, y := r.g.children(a), r.g.children(b)
	for i := range min(len(x), len(y)) {
		if c := cmp.Compare(r.class[x[i]], r.class[y[i]]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(x), len(y))
}
