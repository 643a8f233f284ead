package pin

import (
	"math/bits"

	"github.com/rules-btf/rules_btf/internal/model/types"
)

// present is the unit that is being imported.
type present struct {
	nodes  []types.ID // its nodes, ascending
	flags  []flags    // by node of from
	tagged []tagged   // by number of the tag
	listed []types.ID // its definitions
	marked []types.ID // the nodes with the flag "in", ascending

	// by node of from, if it has the flag "in": the hash of its content (except for stubs), and its
	// copy in the other graph
	hashes []types.Hash
	ids    []types.ID
	common *part // the marked nodes that other units also have

	wanted []uint64 // scratch: one bit per node
	index  []int32  // scratch, see contents
}

type flags uint8

const (
	in     flags = 1 << iota // it is a pinned or followed stub, or its content depends on one
	listed                   // it is a definition of the unit
	shared                   // other units also have the node
	seen                     // scratch
)

type tagged struct {
	scope     uint32 // the scope that was last examined, from 1
	first     types.ID
	candidate bool   // it may have different definitions
	several   uint32 // the first scope in which it has different definitions, from 1; 0: none
}

func (u *present) grow(nodes, tags int) {
	if n := nodes - len(u.flags); n > 0 {
		u.flags = append(u.flags, make([]flags, n)...)
		u.hashes = append(u.hashes, make([]types.Hash, n)...)
		u.ids = append(u.ids, make([]types.ID, n)...)
		u.index = append(u.index, make([]int32, n)...)
		u.wanted = append(u.wanted, make([]uint64, nodes/64+1-len(u.wanted))...)
	}
	if n := tags - len(u.tagged); n > 0 {
		u.tagged = append(u.tagged, make([]tagged, n)...)
	}
}

// begin forgets the previous unit, and takes the nodes of the next one.
func (m *Importer) begin(items, others []types.ID, scopes [][]types.ID) {
	for _, list := range [][]types.ID{m.nodes, m.present.listed} {
		for _, id := range list {
			m.flags[id] = 0
			m.tagged[m.tags[id]] = tagged{}
		}
	}
	m.nodes = m.reached(others, m.nodes[:0])
	for _, id := range m.nodes {
		m.flags[id] = shared
	}
	m.nodes = m.reached(items, m.nodes[:0])
	m.present.listed = m.present.listed[:0]
	for _, list := range scopes {
		for _, id := range list {
			m.flags[id] |= listed
			m.present.listed = append(m.present.listed, id)
		}
	}
}

// reached appends to list, in ascending order, the roots and the nodes that their shapes contain.
// One pass is enough, because a node refers only to nodes with smaller IDs.
func (m *Importer) reached(roots, list []types.ID) []types.ID {
	wanted := m.wanted
	want := func(id types.ID) { wanted[id/64] |= 1 << (id % 64) }
	last := -1
	for _, id := range roots {
		want(id)
		last = max(last, int(id/64))
	}
	for i := last; i >= 0; i-- {
		for rest := wanted[i]; rest != 0; {
			bit := bits.Len64(rest) - 1
			if n := &m.from.Nodes[i*64+bit]; n.Kind != types.KindStub {
				want(n.Ref)
				for _, e := range m.from.ElemsOf(n) {
					want(e.Ref)
				}
			}
			rest = wanted[i] & (1<<bit - 1)
		}
	}
	wanted[0] &^= 1 // void
	for i := range wanted[:last+1] {
		for ; wanted[i] != 0; wanted[i] &= wanted[i] - 1 {
			list = append(list, types.ID(i*64+bits.TrailingZeros64(wanted[i])))
		}
	}
	return list
}

// mark sets the flag "in". A stub gets the flag if follow returns true for the stub. Any other node
// gets the flag if it refers to a node with the flag, or is the definition to which a stub with the
// flag resolves.
func (m *Importer) mark(follow func(types.ID, *types.Node) bool) {
	for _, id := range m.nodes {
		n := &m.from.Nodes[id]
		is := flags(0)
		if n.Kind == types.KindStub {
			if follow(id, n) {
				is = in
			}
		} else {
			is = m.flags[n.Ref]
			for _, e := range m.from.ElemsOf(n) {
				is |= m.flags[e.Ref]
			}
		}
		m.flags[id] = m.flags[id]&^in | is&in
	}
	for _, id := range m.nodes {
		if n := &m.from.Nodes[id]; n.Kind == types.KindStub && m.flags[id]&in != 0 {
			m.flags[n.Ref] |= in
		}
	}
	m.marked = m.marked[:0]
	for _, id := range m.nodes {
		if m.flags[id]&in != 0 {
			m.marked = append(m.marked, id)
		}
	}
}

// hash hashes the nodes with the flag "in". Nodes that other units also have are hashed separately,
// if they refer only to each other.
func (m *Importer) hash() error {
	var some, own []types.ID
	for _, id := range m.marked {
		if m.flags[id]&shared == 0 {
			own = append(own, id)
			continue
		}
		some = append(some, id)
		if n := &m.from.Nodes[id]; n.Kind == types.KindStub && m.flags[n.Ref]&shared == 0 {
			some, own = nil, m.marked
			break
		}
	}
	m.common = nil
	if len(own) > 0 {
		p, err := m.solve(m.closed(own))
		if err != nil {
			return err
		}
		for i, id := range p.nodes {
			m.hashes[id] = p.hashes[i]
		}
	}
	if len(some) == 0 {
		return nil
	}
	signature := types.Start(types.KindStub, 0, 0, types.Hash{}, types.Hash{})
	for _, id := range some {
		signature.Elem(types.Hash{}, types.Hash{}, uint64(id))
	}
	key := signature.Sum(false)
	p := m.parts[key]
	if p == nil {
		var err error
		if p, err = m.solve(some); err != nil {
			return err
		}
		if m.kept += len(some); m.kept > maxKept {
			clear(m.parts)
			m.kept = len(some)
		}
		m.parts[key] = p
	}
	m.common = p
	for i, id := range p.nodes {
		m.hashes[id] = p.hashes[i]
	}
	return nil
}

// closed returns list plus all nodes with the flag "in" to which it leads, including through pins.
func (m *Importer) closed(list []types.ID) []types.ID {
	for _, id := range list {
		m.flags[id] |= seen
	}
	list = list[:len(list):len(list)]
	add := func(id types.ID) {
		if m.flags[id]&(in|seen) == in {
			m.flags[id] |= seen
			list = append(list, id)
		}
	}
	for i := 0; i < len(list); i++ {
		n := &m.from.Nodes[list[i]]
		add(n.Ref)
		if n.Kind != types.KindStub {
			for _, e := range m.from.ElemsOf(n) {
				add(e.Ref)
			}
		}
	}
	for _, id := range list {
		m.flags[id] &^= seen
	}
	return list
}
