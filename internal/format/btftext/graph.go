package btftext

import (
	"encoding/binary"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// graph is the blob that a reader makes. A type without a name that is part of other types is in it
// only once.
type graph struct {
	builder *btf.Builder
	nested  []uint16 // by id minus 1: how many types without a name are nested, including this one
	ids     map[key]uint32
	uses    []use // the first reference to each type in ids

	modifiers map[btf.Type]uint32  // PTR, CONST and so on, by record
	arrays    map[btf.Array]uint32 // by content
	others    map[string]uint32    // structs, unions, enums and prototypes, by content

	buf []byte // scratch space for a key of others
}

// use is a reference to a type that may not be defined yet.
type use struct {
	key key
	id  uint32
	pos int
}

func newGraph() *graph {
	return &graph{builder: btf.NewBuilder(nil, nil, nil), ids: map[key]uint32{},
		modifiers: map[btf.Type]uint32{}, arrays: map[btf.Array]uint32{},
		others: map[string]uint32{}}
}

// add adds a type; nested is as in graph.
func (g *graph) add(t btf.Type, nested int) uint32 {
	g.nested = append(g.nested, uint16(nested))
	return g.builder.Add(t)
}

func (g *graph) nesting(id uint32) int {
	if id == 0 {
		return 0
	}
	return int(g.nested[id-1])
}

// named returns the id of the type with this key. If it isn't defined yet, the type has a record of
// the kind VOID.
func (g *graph) named(k key, pos int) uint32 {
	id, ok := g.ids[k]
	if !ok {
		id = g.add(btf.Type{}, 0)
		g.ids[k] = id
		g.uses = append(g.uses, use{k, id, pos})
	}
	return id
}

// addTags adds DECL_TAGs on a type.
func (g *graph) addTags(id uint32, tags []tag) {
	for _, t := range tags {
		g.add(btf.Type{Kind: btf.KindDeclTag, NameOff: g.builder.Name(t.text), SizeOrType: id,
			Extra: t.component, KFlag: t.word == declAttr}, 0)
	}
}

// put adds numbers to the key in buf.
func (g *graph) put(vs ...uint32) {
	for _, v := range vs {
		g.buf = binary.LittleEndian.AppendUint32(g.buf, v)
	}
}

// apply adds the type that an operator makes of the type id, unless the blob has it already.
func (r *reader) apply(o *operator, id uint32, pos int) uint32 {
	t := o.record
	nested := 1 + r.nesting(id)
	switch t.Kind {
	case btf.KindArray:
		a := o.array
		a.Elem = id
		known, ok := r.arrays[a]
		if !ok {
			nested = max(nested, 1+r.nesting(a.Index))
			t.First = uint32(len(r.builder.Blob.Arrays))
			r.builder.Blob.Arrays = append(r.builder.Blob.Arrays, a)
			known = r.addNested(t, nested, pos)
			r.arrays[a] = known
		}
		return known
	case btf.KindFuncProto:
		t.SizeOrType, t.Vlen = id, uint32(len(o.params))
		t.First = uint32(len(r.builder.Blob.Params))
		r.buf = r.buf[:0]
		for _, p := range o.params {
			nested = max(nested, 1+r.nesting(p.Type))
			r.put(p.NameOff, p.Type)
		}
		known, isNew := r.unique(t, nested, pos, true)
		if isNew {
			r.builder.Blob.Params = append(r.builder.Blob.Params, o.params...)
		}
		return known
	}
	t.SizeOrType = id
	known, ok := r.modifiers[t]
	if !ok {
		known = r.addNested(t, nested, pos)
		r.modifiers[t] = known
	}
	return known
}

// unique adds a type whose elements and tags are in buf, unless shared is set and the blob has it
// already. It returns the type's id, and whether it has added the type.
func (r *reader) unique(t btf.Type, nested, pos int, shared bool) (id uint32, isNew bool) {
	if !shared {
		return r.addNested(t, nested, pos), true
	}
	flag := uint32(0)
	if t.KFlag {
		flag = 1
	}
	r.put(uint32(t.Kind), t.SizeOrType, flag, t.Vlen)
	id, ok := r.others[string(r.buf)]
	if !ok {
		id = r.addNested(t, nested, pos)
		r.others[string(r.buf)] = id
	}
	return id, !ok
}

// addNested is like add, but checks the nesting.
func (r *reader) addNested(t btf.Type, nested, pos int) uint32 {
	if nested > maxDepth {
		r.failAt(pos, "more than %d types without a name are nested in each other", maxDepth)
		nested = 0
	}
	return r.add(t, nested)
}
