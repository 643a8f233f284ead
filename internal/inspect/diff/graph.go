package diff

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// These nodes are not types of a blob.
const (
	voidNode    = 0
	missingNode = 1 // for an id that no type has
	firstNode   = 2
)

// graph has the types of both sides as numbered nodes. A name has the same number on both sides.
type graph struct {
	nodes   []node
	first   []uint32 // the children of node n are kids[first[n]:first[n+1]]
	kids    []uint32 // the referenced nodes, in the order of the records
	uses    []uint32 // by node: how many references lead to it, not counting DECL_TAGs and LOCSECs
	names   []string // by number
	numbers map[string]uint32
	label   []uint32 // by node: equal for nodes that differ at most in references
	labels  map[string]uint32
	buf     []byte // scratch space for a record, the key in labels
}

type node struct {
	blob *btf.Blob
	typ  *btf.Type // nil for voidNode and missingNode
	id   uint32    // of the type in its blob
	name uint32
}

func newGraph(sides ...Side) *graph {
	types, names := 0, 0
	counted := map[*btf.Blob]bool{} // many blobs may have the same base
	for _, b := range slices.Concat(sides...) {
		for ; b != nil && !counted[b]; b = b.Base {
			counted[b] = true
			types += len(b.Types)
			names += strings.Count(b.Strings, "\x00")
		}
	}
	g := &graph{
		nodes: make([]node, firstNode, firstNode+types),
		first: make([]uint32, firstNode+1, firstNode+1+types),
		names: []string{""}, numbers: make(map[string]uint32, names),
		label: make([]uint32, firstNode, firstNode+types), labels: make(map[string]uint32, types),
	}
	g.numbers[""] = 0
	for n := range uint32(firstNode) {
		g.label[n] = n
	}
	return g
}

// placedBlob is a blob in the graph. Its own types are consecutive nodes; at is the first of them.
type placedBlob struct {
	*btf.Blob
	at uint32
}

// add adds the blobs of a side and, after them, their bases, the nearest first.
func (g *graph) add(s Side) []placedBlob {
	blobs := slices.Clone(s)
	for base := s[0].Base; base != nil; base = base.Base {
		blobs = append(blobs, base)
	}
	var all []placedBlob
	for _, b := range blobs {
		all = append(all, placedBlob{b, uint32(len(g.nodes))})
		for i := range b.Types {
			g.nodes = append(g.nodes, node{blob: b, typ: &b.Types[i], id: b.StartID + uint32(i)})
		}
	}
	g.uses = append(g.uses, make([]uint32, len(g.nodes)-len(g.uses))...)
	for i, p := range all {
		chain := all[max(i, len(s)):]
		if i < len(s) {
			chain = append([]placedBlob{p}, chain...)
		}
		r := &reader{graph: g, blob: p.Blob, chain: chain, memo: make([]uint32, len(p.Strings))}
		for i := range p.Types {
			r.addRecord(p.at + uint32(i))
		}
	}
	return all
}

// nodeOf returns the node of a type id. chain is a blob, its base, the base's base, …
func nodeOf(chain []placedBlob, id uint32) uint32 {
	if id == 0 {
		return voidNode
	}
	for _, p := range chain {
		if id >= p.StartID {
			if i := id - p.StartID; i < uint32(len(p.Types)) {
				return p.at + i
			}
			break
		}
	}
	return missingNode
}

type reader struct {
	*graph
	blob  *btf.Blob
	chain []placedBlob // as for nodeOf
	memo  []uint32     // numbers of the blob's own strings by offset; 0 if not yet known
}

// name returns the number of the string at an offset. If the offset is bad, the text of the error
// takes the place of the name; no name equals this text.
func (r *reader) name(off uint32) uint32 {
	if off == 0 {
		return 0
	}
	own := off - r.blob.BaseStrLen
	isOwn := off >= r.blob.BaseStrLen && own < uint32(len(r.memo))
	if isOwn && r.memo[own] != 0 {
		return r.memo[own]
	}
	s, err := r.blob.Name(off)
	if err != nil {
		s = "(" + err.Error() + ")"
	}
	n, ok := r.numbers[s]
	if !ok {
		n = uint32(len(r.names))
		r.names = append(r.names, s)
		r.numbers[s] = n
	}
	if isOwn {
		r.memo[own] = n
	}
	return n
}

func (r *reader) put(vs ...uint32) {
	for _, v := range vs {
		r.buf = binary.LittleEndian.AppendUint32(r.buf, v)
	}
}

func (r *reader) addRecord(n uint32) {
	t, b := r.nodes[n].typ, r.blob
	name := r.name(t.NameOff)
	r.nodes[n].name = name
	flag := uint32(t.Kind) << 1
	if t.KFlag {
		flag |= 1
	}
	size, aux, _ := object.Head(b, t)
	r.buf = r.buf[:0]
	r.put(flag, name, size, aux, object.Elements(t))
	for i := range object.Elements(t) {
		nameOff, _, val := object.Element(b, t, i)
		r.buf = binary.LittleEndian.AppendUint32(r.buf, r.name(nameOff))
		r.buf = binary.LittleEndian.AppendUint64(r.buf, val)
	}
	for ref := range b.Refs(t) {
		kid := nodeOf(r.chain, *ref)
		r.kids = append(r.kids, kid)
		if t.Kind != btf.KindDeclTag && t.Kind != btf.KindLocsec {
			r.uses[kid]++
		}
	}
	r.first = append(r.first, uint32(len(r.kids)))
	l, ok := r.labels[string(r.buf)]
	if !ok {
		l = firstNode + uint32(len(r.labels))
		r.labels[string(r.buf)] = l
	}
	r.label = append(r.label, l)
}

// children returns the nodes that a node refers to, in the order of the record: for a FUNC_PROTO
// the return type first, for an ARRAY the element type, then the index type.
func (g *graph) children(n uint32) []uint32 { return g.kids[g.first[n]:g.first[n+1]] }

func (g *graph) kind(n uint32) btf.Kind {
	if t := g.nodes[n].typ; t != nil {
		return t.Kind
	}
	return btf.KindVoid
}

func (g *graph) name(n uint32) string { return g.names[g.nodes[n].name] }

// element returns the name of the i-th member, enumerator, parameter or entry.
func (g *graph) element(n uint32, i int) string {
	t, b := g.nodes[n].typ, g.nodes[n].blob
	off := uint32(0)
	switch t.Kind {
	case btf.KindStruct, btf.KindUnion:
		off = b.MembersOf(t)[i].NameOff
	case btf.KindEnum, btf.KindEnum64:
		off = b.EnumsOf(t)[i].NameOff
	case btf.KindFuncProto:
		off = b.ParamsOf(t)[i].NameOff
	case btf.KindDatasec:
		return g.name(g.children(n)[i])
	}
	name, _ := b.Name(off)
	return name
}

// all is a limit for the method elements: it is larger than any type's number of elements.
const all = ^uint32(0)

// elements returns the names of a node's first elements; most limits their number.
func (g *graph) elements(n, most uint32) []string {
	names := make([]string, min(g.nodes[n].typ.Vlen, most))
	for i := range names {
		names[i] = g.element(n, i)
	}
	return names
}
