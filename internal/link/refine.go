package link

import "github.com/rules-btf/rules_btf/internal/types"

// refine colours the nodes of a phase by the coarsest bisimulation: two nodes have the same colour
// exactly if their shapes and the types that they lead to are the same, however deep one looks. A
// colour is a hash of content: the shape of the node, then round by round of what lies one step
// further, until a round tells no more nodes apart.
func (l *linker) refine(p *phase) {
	old := make([]types.Hash, len(p.nodes))
	for i := range p.nodes {
		old[i] = l.unpinned(p.nodes[i].anchor)
	}
	now := make([]types.Hash, len(p.nodes))
	count := newCounter(len(p.nodes))
	var slots []types.Hash
	for classes := count.distinct(old); ; {
		for i := range p.nodes {
			n := &p.nodes[i]
			slots = slots[:0]
			for j := range l.progs.slotsOf(n.prog) {
				slots = append(slots, l.colour(old, p.targets[int(n.target)+j]))
			}
			ops := l.eval(n.prog, slots)
			now[i] = ops[len(ops)-1]
		}
		old, now = now, old
		c := count.distinct(old)
		if c <= classes {
			break
		}
		classes = c
	}
	p.colours = old
}

// colour returns the colour of a target: a node's, or that of a tag that is only declared.
func (l *linker) colour(colours []types.Hash, target int32) types.Hash {
	if target >= 0 {
		return colours[target]
	}
	return l.tags.list[^target].hash
}

// counter counts distinct hashes.
type counter struct {
	table []types.Hash
	round []uint32
	now   uint32
}

func newCounter(n int) *counter {
	size := 16
	for size < 2*n {
		size *= 2
	}
	return &counter{table: make([]types.Hash, size), round: make([]uint32, size)}
}

func (c *counter) distinct(hashes []types.Hash) int {
	c.now++
	mask := uint64(len(c.table) - 1)
	n := 0
	for _, h := range hashes {
		i := h.A & mask
		for c.round[i] == c.now && c.table[i] != h {
			i = (i + 1) & mask
		}
		if c.round[i] != c.now {
			c.round[i], c.table[i] = c.now, h
			n++
		}
	}
	return n
}
