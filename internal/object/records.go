package object

import (
	"fmt"
	"unsafe"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/types"
)

// records is the type records of a base blob and the split blobs on it, in one space of ids, with
// names interned.
type records struct {
	g      *types.Graph
	layers []layer
	end    uint32          // one more than the last id
	budget int             // bytes of names that may still be interned, against names that overlap
	cyclic map[uint32]bool // see findCyclic
}

type layer struct {
	*btf.Blob
	names []types.Str // by offset in Strings: the name there, 0 if not looked up yet
}

// newRecords returns the records of a chain: chain[0] is a base, each other stands on the one
// before it.
func newRecords(g *types.Graph, chain []*btf.Blob) (*records, error) {
	r := &records{g: g, end: 1}
	var below *btf.Blob
	for _, b := range chain {
		if b.Base != below || b.StartID != r.end {
			return nil, fmt.Errorf("BTF: not a chain of blobs that stand on each other "+
				"(types start at [%d], want [%d])", b.StartID, r.end)
		}
		r.layers = append(r.layers, layer{b, make([]types.Str, len(b.Strings))})
		r.end = b.EndID()
		r.budget += nameBudget(b)
		below = b
	}
	return r, nil
}

// with returns the records for another graph.
func (r *records) with(g *types.Graph) *records {
	c := &records{g: g, end: r.end, cyclic: r.cyclic}
	for i := range r.layers {
		b := r.layers[i].Blob
		c.layers = append(c.layers, layer{b, make([]types.Str, len(b.Strings))})
		c.budget += nameBudget(b)
	}
	return c
}

func nameBudget(b *btf.Blob) int { return 4*len(b.Strings) + 1<<16 }

// layerOf returns the number of the layer that holds an id.
func (r *records) layerOf(id uint32) int {
	i := len(r.layers) - 1
	for id < r.layers[i].StartID {
		i--
	}
	return i
}

// at returns the record of an id in 1 … end-1, and the layer with its elements.
func (r *records) at(id uint32) (*btf.Type, *layer) {
	l := &r.layers[r.layerOf(id)]
	return &l.Types[id-l.StartID], l
}

// typeError is an error about one type.
func typeError(id uint32, t *btf.Type, format string, args ...any) error {
	return fmt.Errorf("BTF type [%d] %v: %s", id, t.Kind, fmt.Sprintf(format, args...))
}

// name interns the string at an offset.
func (r *records) name(off uint32) (types.Str, error) {
	if off == 0 {
		return 0, nil
	}
	i := len(r.layers) - 1
	for i > 0 && off < r.layers[i].BaseStrLen {
		i--
	}
	l := &r.layers[i]
	if at := off - l.BaseStrLen; at < uint32(len(l.names)) && l.names[at] != 0 {
		return l.names[at], nil
	}
	s, err := l.Name(off)
	if err != nil {
		return 0, fmt.Errorf("BTF: %w", err)
	}
	if r.budget -= len(s); r.budget < 0 {
		return 0, fmt.Errorf("BTF string section: the names overlap and together are " +
			"many times longer than the section")
	}
	id := r.g.Strs.Intern(unsafe.Slice(unsafe.StringData(s), len(s)))
	if id != 0 {
		l.names[off-l.BaseStrLen] = id
	}
	return id, nil
}

// named tells whether t has a name. An empty one counts as no name.
func (r *records) named(t *btf.Type) bool {
	if t.NameOff == 0 {
		return false
	}
	i := len(r.layers) - 1
	for i > 0 && t.NameOff < r.layers[i].BaseStrLen {
		i--
	}
	l := &r.layers[i]
	at := t.NameOff - l.BaseStrLen
	return at >= uint32(len(l.Strings)) || l.Strings[at] != 0
}

// record is one type in the terms of package types, but that Ref and Elems' Ref are BTF ids.
type record struct {
	types.Node
	elems []types.Elem // reused by the next decode
}

// decode reads a record; of a FWD only the name.
func (r *records) decode(id uint32, out *record) (err error) {
	t, l := r.at(id)
	elems := out.elems[:0]
	n := types.Node{Kind: types.Kind(t.Kind), Flag: t.KFlag}
	if n.Name, err = r.name(t.NameOff); err != nil {
		return err
	}
	elem := func(nameOff, ref uint32, val uint64) {
		if err == nil {
			var name types.Str
			name, err = r.name(nameOff)
			elems = append(elems, types.Elem{Name: name, Ref: types.ID(ref), Val: val})
		}
	}
	if t.Kind.HasSize() {
		n.Size = t.SizeOrType
	} else if t.Kind.HasType() {
		n.Ref = types.ID(t.SizeOrType)
	}
	switch t.Kind {
	case btf.KindInt, btf.KindVar:
		n.Aux = t.Extra
	case btf.KindDeclTag:
		n.Aux = t.Extra + 1
	case btf.KindFunc:
		if n.Aux = t.Vlen; n.Aux > types.LinkageExtern {
			return typeError(id, t, "linkage %d is not known (0 to 2 are)", n.Aux)
		}
	case btf.KindArray:
		a := l.ArrayOf(t)
		n.Ref, n.Size = types.ID(a.Elem), a.Nelems
		elem(0, a.Index, 0)
	case btf.KindStruct, btf.KindUnion:
		for _, m := range l.MembersOf(t) {
			elem(m.NameOff, m.Type, uint64(m.Offset))
		}
	case btf.KindEnum:
		for _, e := range l.EnumsOf(t) {
			elem(e.NameOff, 0, e.Value&(1<<32-1)) // types.Elem has the 32 bits, btf.Enumerator the value
		}
	case btf.KindEnum64:
		for _, e := range l.EnumsOf(t) {
			elem(e.NameOff, 0, e.Value)
		}
	case btf.KindFuncProto:
		for _, p := range l.ParamsOf(t) {
			elem(p.NameOff, p.Type, 0)
		}
	case btf.KindDatasec:
		for _, s := range l.SecinfosOf(t) {
			elem(0, s.Type, uint64(s.Offset)|uint64(s.Size)<<32)
		}
	}
	out.Node, out.elems = n, elems
	return err
}

// refs calls f with each type that t refers to, void included. An array's index type comes after
// its element type.
func (l *layer) refs(t *btf.Type, f func(uint32)) {
	switch t.Kind {
	case btf.KindArray:
		a := l.ArrayOf(t)
		f(a.Elem)
		f(a.Index)
	case btf.KindStruct, btf.KindUnion:
		for _, m := range l.MembersOf(t) {
			f(m.Type)
		}
	case btf.KindFuncProto:
		f(t.SizeOrType)
		for _, p := range l.ParamsOf(t) {
			f(p.Type)
		}
	case btf.KindDatasec:
		for _, s := range l.SecinfosOf(t) {
			f(s.Type)
		}
	default:
		if t.Kind.HasType() {
			f(t.SizeOrType)
		}
	}
}

// declared returns the namespace of a record that only declares a tag: FWD, or a named enum without
// enumerators. It is 0 for all others.
func (r *records) declared(t *btf.Type) types.Tag {
	switch {
	case t.Kind == btf.KindFwd && t.KFlag:
		return types.TagUnion
	case t.Kind == btf.KindFwd:
		return types.TagStruct
	case t.Kind.IsEnum() && t.Vlen == 0 && r.named(t):
		return types.TagEnum
	}
	return 0
}

// tagged tells whether references to t are stubs: it declares or defines a tag.
func (r *records) tagged(t *btf.Type) bool {
	return t.Kind == btf.KindFwd || types.TagOf(types.Kind(t.Kind)) != 0 && r.named(t)
}
