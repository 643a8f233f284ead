package diff

import (
	"encoding/binary"

	"github.com/rules-btf/rules_btf/internal/btf"
)

// Nodes that stand for no record.
const (
	voidNode    = 0
	missingNode = 1 // what an id refers to that does not exist
	firstNode   = 2
)

// graph is the types of both sides together, as nodes. Equal names have equal numbers on both
// sides.
type graph struct {
	nodes   []node
	first   []uint32 // children of node n are kids[first[n]:first[n+1]]
	kids    []uint32 // references in the order of the record
	uses    []uint32 // how many references lead to a node, those of DECL_TAGs not counted
	names   []string
	numbers map[string]uint32
	label   []uint32 // nodes with one label agree in everything but their references
	labels  map[string]uint32
	buf     []byte
}

// node is one type.
type node struct {
	blob *btf.Blob
	typ  *btf.Type // nil for voidNode and missingNode
	name uint32
}

func newGraph(types int) *graph {
	g := &graph{
		nodes: make([]node, firstNode, firstNode+types), first: make([]uint32, firstNode+1,
			firstNode+1+types),
		names: []string{""}, numbers: map[string]uint32{"": 0},
		label: make([]uint32, firstNode, firstNode+types), labels: make(map[string]uint32, types),
	}
	for n := range uint32(firstNode) {
		g.label[n] = n
	}
	return g
}

// placed is where a blob's own types are: StartID is node at.
type placed struct {
	blob *btf.Blob
	at   uint32
}

// add adds a side's blobs and their bases, each once, and returns where they are.
func (g *graph) add(s Side) []placed {
	var all []placed
	seen := map[*btf.Blob]uint32{}
	for _, b := range s {
		for ; b != nil; b = b.Base {
			if _, ok := seen[b]; ok {
				break
			}
			seen[b] = uint32(len(g.nodes))
			all = append(all, placed{b, uint32(len(g.nodes))})
			for i := range b.Types {
				g.nodes = append(g.nodes, node{blob: b, typ: &b.Types[i]})
			}
		}
	}
	for _, p := range all {
		w := g.wire(p, seen)
		for i := range p.blob.Types {
			w.node(p.at + uint32(i))
		}
	}
	return all
}

// wiring reads the records of one blob.
type wiring struct {
	*graph
	blob  *btf.Blob
	chain []placed // the blob and its bases, deepest last
	memo  []uint32 // numbers of the blob's own strings by offset; 0 is not known yet
}

func (g *graph) wire(p placed, at map[*btf.Blob]uint32) *wiring {
	w := &wiring{graph: g, blob: p.blob, memo: make([]uint32, len(p.blob.Strings))}
	for b := p.blob; b != nil; b = b.Base {
		w.chain = append(w.chain, placed{b, at[b]})
	}
	return w
}

// ref is the node of a type id.
func (w *wiring) ref(id uint32) uint32 {
	if id == 0 {
		return voidNode
	}
	for _, p := range w.chain {
		if id >= p.blob.StartID {
			if i := id - p.blob.StartID; i < uint32(len(p.blob.Types)) {
				return p.at + i
			}
			break
		}
	}
	return missingNode
}

// name is the number of a string offset's string. Offsets that are out of range have the name that
// the offset's error says, so that they equal nothing else by accident.
func (w *wiring) name(off uint32) uint32 {
	if off == 0 {
		return 0
	}
	own := off - w.blob.BaseStrLen
	isOwn := off >= w.blob.BaseStrLen && own < uint32(len(w.memo))
	if isOwn && w.memo[own] != 0 {
		return w.memo[own]
	}
	s, err := w.blob.Name(off)
	if err != nil {
		s = "(" + err.Error() + ")"
	}
	n, ok := w.numbers[s]
	if !ok {
		n = uint32(len(w.names))
		w.names = append(w.names, s)
		w.numbers[s] = n
	}
	if isOwn {
		w.memo[own] = n
	}
	return n
}

func (w *wiring) put(vs ...uint32) {
	for _, v := range vs {
		w.buf = binary.LittleEndian.AppendUint32(w.buf, v)
	}
}

// node gives a node its name, label and children.
func (w *wiring) node(n uint32) {
	t, b := w.nodes[n].typ, w.blob
	name := w.name(t.NameOff)
	w.nodes[n].name = name
	flag := uint32(t.Kind) << 1
	if t.KFlag {
		flag |= 1
	}
	w.buf = w.buf[:0]
	w.put(flag, name, t.Vlen, t.Extra)
	if t.Kind.HasSize() {
		w.put(t.SizeOrType)
	}
	switch t.Kind {
	case btf.KindArray:
		w.put(b.ArrayOf(t).Nelems)
	case btf.KindStruct, btf.KindUnion:
		for _, m := range b.MembersOf(t) {
			w.put(w.name(m.NameOff), m.Offset)
		}
	case btf.KindFuncProto:
		for _, p := range b.ParamsOf(t) {
			w.put(w.name(p.NameOff))
		}
	case btf.KindEnum, btf.KindEnum64:
		for _, e := range b.EnumsOf(t) {
			w.put(w.name(e.NameOff), uint32(e.Value), uint32(e.Value>>32))
		}
	case btf.KindDatasec:
		for _, s := range b.SecinfosOf(t) {
			w.put(s.Offset, s.Size)
		}
	}
	for ref := range b.Refs(t) {
		w.kids = append(w.kids, w.ref(*ref))
	}
	w.first = append(w.first, uint32(len(w.kids)))
	l, ok := w.labels[string(w.buf)]
	if !ok {
		l = firstNode + uint32(len(w.labels))
		w.labels[string(w.buf)] = l
	}
	w.label = append(w.label, l)
}

// children are the nodes that a node refers to, in the order of the record: for a FUNC_PROTO the
// return type first, for an ARRAY the element type, then the index type.
func (g *graph) children(n uint32) []uint32 { return g.kids[g.first[n]:g.first[n+1]] }

func (g *graph) kind(n uint32) btf.Kind {
	if t := g.nodes[n].typ; t != nil {
		return t.Kind
	}
	return btf.KindVoid
}

func (g *graph) name(n uint32) string { return g.names[g.nodes[n].name] }

// countUses fills uses.
func (g *graph) countUses() {
	g.uses = make([]uint32, len(g.nodes))
	for n := range uint32(len(g.nodes)) {
		if g.kind(n) == btf.KindDeclTag {
			continue
		}
		for _, k := range g.children(n) {
			g.uses[k]++
		}
	}
}
