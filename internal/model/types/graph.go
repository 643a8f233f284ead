package types

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/pages"
)

// Graph holds shapes, without duplicates. The zero value is not ready for use: call New.
type Graph struct {
	Nodes []Node // Nodes[0] is void
	Elems []Elem
	Strs  Strings
	index []bucket // open addressing over Node.Hash
}

type bucket struct {
	tag uint32 // the upper half of Hash.A
	id  ID
}

// New returns an empty graph.
func New() *Graph { return NewSized(0) }

// NewSized is New with room for about the given number of nodes.
func NewSized(nodes int) *Graph {
	nodes = max(nodes, 64)
	g := &Graph{Nodes: make([]Node, 1, nodes+1), Elems: make([]Elem, 0, 2*nodes)}
	g.fillIndex(nodes)
	g.Strs.initList(nodes)
	g.Strs.fillIndex(nodes)
	return g
}

// Node returns the node of id. The pointer is valid until the next Add.
func (g *Graph) Node(id ID) *Node { return &g.Nodes[id] }

// ElemsOf returns the elements of n.
func (g *Graph) ElemsOf(n *Node) []Elem { return g.Elems[n.First:][:n.Count:n.Count] }

// Name returns n's name as a string.
func (g *Graph) Name(n *Node) string { return g.Strs.String(n.Name) }

// Find returns the node with content hash h, or 0 if there is none.
func (g *Graph) Find(h Hash) ID {
	return g.slot(h).id
}

// slot returns the bucket of content hash h, or the free bucket for it.
func (g *Graph) slot(h Hash) *bucket {
	mask := uint64(len(g.index) - 1)
	tag := uint32(h.A >> 32)
	for i := h.A & mask; ; i = (i + 1) & mask {
		if b := &g.index[i]; b.id == 0 || b.tag == tag && g.Nodes[b.id].Hash == h {
			return b
		}
	}
}

// Add returns the node with n's content and these elements. If there is none yet, Add adds it, and
// computes its Hash, First and Count. Every ID in n and elems must belong to this graph.
func (g *Graph) Add(n Node, elems []Elem) ID {
	n.Hash = n.HashWith(&g.Strs, elems, func(id ID) Hash { return g.Nodes[id].Hash })
	return g.AddHashed(n, elems)
}

// AddHashed is Add for callers that have set n.Hash.
func (g *Graph) AddHashed(n Node, elems []Elem) ID {
	slot := g.slot(n.Hash)
	if slot.id != 0 {
		return slot.id
	}
	id := ID(len(g.Nodes))
	n.First, n.Count = uint32(len(g.Elems)), uint32(len(elems))
	if n.Kind != KindStub {
		n.Depth = uint16(min(g.Depth(n.Ref, elems), math.MaxUint16))
	}
	g.Elems = append(room(g.Elems, len(elems)), elems...)
	g.Nodes = append(room(g.Nodes, 1), n)
	*slot = bucket{uint32(n.Hash.A >> 32), id}
	if len(g.Nodes)*4 > len(g.index)*3 {
		g.fillIndex(len(g.Nodes))
	}
	return id
}

// SkipModifiers follows typedefs, qualifiers and type tags from id, at most btf.MaxModifiers+1 of
// them. It returns the type after them, and their number n.
func (g *Graph) SkipModifiers(id ID) (to ID, n int) {
	for n <= btf.MaxModifiers {
		switch t := &g.Nodes[id]; {
		case t.Kind < KindStub && btf.Kind(t.Kind).IsModifier():
			n++
			id = t.Ref
		case t.Kind == KindStub && t.Tag() == TagTypedef:
			id = t.Ref
		default:
			return id, n
		}
	}
	return id, n
}

// Depth returns the nesting depth of a shape with this reference and these elements.
func (g *Graph) Depth(ref ID, elems []Elem) int {
	deepest := g.Nodes[ref].Depth
	for i := range elems {
		deepest = max(deepest, g.Nodes[elems[i].Ref].Depth)
	}
	return int(deepest) + 1
}

// room makes room for n more elements. It grows large slices by half; append grows them by
// a quarter, and so copies them more often. Also, append clears the new part of a large slice, so
// that it takes up memory even if it is never used.
func room[T any](s []T, n int) []T {
	if len(s)+n <= cap(s) {
		return s
	}
	larger := make([]T, len(s), len(s)+max(len(s)/2, n, 64))
	copy(larger, s)
	return larger
}

// fillIndex makes an index of all nodes, with room for n.
func (g *Graph) fillIndex(n int) {
	index := pages.Make[bucket](1 << max(8, bits.Len(uint(n+n/3))))
	g.index = index
	mask := uint64(len(index) - 1)
	for id := 1; id < len(g.Nodes); id++ {
		h := &g.Nodes[id].Hash
		i := h.A & mask
		for index[i].id != 0 {
			i = (i + 1) & mask
		}
		index[i] = bucket{uint32(h.A >> 32), ID(id)}
	}
}

// HashWith returns the content hash of a node with these elements. The function hashOf must return
// the hash of a type to which the node refers. HashWith is not for stubs: see HashStub.
// Rule: equal shapes, even of anonymous structs. Source: libbpf btf_dedup_struct_types.
func (n *NodeOf[R]) HashWith(strs *Strings, elems []ElemOf[R], hashOf func(R) Hash) Hash {
	h := Start(n.Kind, n.Size, n.Aux, strs.Hash(n.Name), hashOf(n.Ref))
	for i := range elems {
		e := &elems[i]
		h.Elem(strs.Hash(e.Name), hashOf(e.Ref), e.Val)
	}
	return h.Sum(n.Flag)
}

// Refs appends to buf the nodes to which id refers, in order: Ref, then the references of the
// elements, without void. A stub has no references.
func (g *Graph) Refs(id ID, buf []ID) []ID {
	n := &g.Nodes[id]
	if n.Kind == KindStub {
		return buf
	}
	if n.Ref != 0 {
		buf = append(buf, n.Ref)
	}
	for _, e := range g.Elems[n.First : n.First+n.Count] {
		if e.Ref != 0 {
			buf = append(buf, e.Ref)
		}
	}
	return buf
}

// Stub returns the stub of a tag.
func (g *Graph) Stub(tag Tag, name Str) ID {
	return g.AddHashed(Node{Kind: KindStub, Name: name, Aux: uint32(tag),
		Hash: HashStub(tag, g.Strs.Hash(name))}, nil)
}

// PinnedStub returns the stub with this pin, which resolves to one specific definition of the tag.
// The caller must call Define after it has added the definition.
func (g *Graph) PinnedStub(tag Tag, name Str, pin Hash) ID {
	n := Node{Kind: KindStub, Size: 1, Name: name, Aux: uint32(tag),
		Hash: Start(KindStub, 1, uint32(tag), g.Strs.Hash(name), pin).Sum(true)}
	return g.AddHashed(n, []Elem{{Val: pin.A}, {Val: pin.B}})
}

// Define sets the definition that a pinned stub resolves to.
func (g *Graph) Define(stub, def ID) error {
	n := &g.Nodes[stub]
	switch n.Ref {
	case def: // not set again, because other threads may be reading it
	case 0:
		n.Ref = def
	default:
		return fmt.Errorf("two different definitions of %q have the same pin; "+
			"a file was altered: rebuild", g.Name(n))
	}
	return nil
}

// Pin returns the pin of a stub that PinnedStub made.
func (g *Graph) Pin(n *Node) Hash {
	e := g.ElemsOf(n)
	return Hash{e[0].Val, e[1].Val}
}

// StubFor returns the unpinned stub for the tag that n defines.
func (g *Graph) StubFor(n *Node) ID { return g.Stub(TagOf(n.Kind), n.Name) }

// Import adds every node of o. It returns the new IDs of the nodes, indexed by their IDs in o. It
// is an error if a pinned stub resolves to a different definition in g.
func (g *Graph) Import(o *Graph) ([]ID, error) {
	strs := make([]Str, o.Strs.Len())
	for i := 1; i < len(strs); i++ {
		strs[i] = g.Strs.InternHashed(o.Strs.Bytes(Str(i)), o.Strs.hash[i])
	}
	ids := make([]ID, len(o.Nodes))
	var elems []Elem
	var pinned []ID
	for i := 1; i < len(o.Nodes); i++ {
		n := o.Nodes[i]
		if n.Kind == KindStub && n.Ref != 0 {
			n.Ref = 0
			pinned = append(pinned, ID(i))
		}
		if id := g.Find(n.Hash); id != 0 {
			ids[i] = id
			continue
		}
		elems = elems[:0]
		for _, e := range o.ElemsOf(&n) {
			elems = append(elems, Elem{strs[e.Name], ids[e.Ref], e.Val})
		}
		n.Name, n.Ref = strs[n.Name], ids[n.Ref]
		ids[i] = g.AddHashed(n, elems)
	}
	for _, id := range pinned {
		if err := g.Define(ids[id], ids[o.Nodes[id].Ref]); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// Unpinned returns, for each node, the hash of its shape with plain stubs in place of pinned ones.
func (g *Graph) Unpinned() []Hash {
	shapes := make([]Hash, len(g.Nodes))
	of := func(id ID) Hash { return shapes[id] }
	same := make([]bool, len(g.Nodes)) // the shape leads to no pinned stub
	same[0] = true
	var refs []ID
	for i := 1; i < len(g.Nodes); i++ {
		id, n := ID(i), &g.Nodes[i]
		if n.Kind == KindStub {
			same[i], shapes[i] = !n.IsPinned(), n.Hash
			if n.IsPinned() {
				shapes[i] = HashStub(n.Tag(), g.Strs.Hash(n.Name))
			}
			continue
		}
		same[i], shapes[i] = true, n.Hash
		refs = g.Refs(id, refs[:0])
		for _, r := range refs {
			if !same[r] {
				same[i], shapes[i] = false, n.HashWith(&g.Strs, g.ElemsOf(n), of)
				break
			}
		}
	}
	return shapes
}

// Leads reports, for each node, whether it is a stub or leads to one.
func (g *Graph) Leads() []bool {
	leads := make([]bool, len(g.Nodes))
	var refs []ID
	for i := 1; i < len(g.Nodes); i++ {
		leads[i] = g.Nodes[i].Kind == KindStub
		refs = g.Refs(ID(i), refs[:0])
		for _, r := range refs {
			leads[i] = leads[i] || leads[r]
		}
	}
	return leads
}

// Clone returns a copy in which every node and string has the same ID. It is faster than Import.
func (g *Graph) Clone() *Graph {
	return &Graph{
		Nodes: slices.Clone(g.Nodes),
		Elems: slices.Clone(g.Elems),
		Strs: Strings{
			bytes: slices.Clone(g.Strs.bytes),
			ends:  slices.Clone(g.Strs.ends),
			hash:  slices.Clone(g.Strs.hash),
			index: slices.Clone(g.Strs.index),
		},
		index: slices.Clone(g.index),
	}
}
