package object

import (
	"fmt"
	"unsafe"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// records are the type records of a base and of split BTF on it, in one space of ids. Records of
// the kinds of locations (btf.Kind.IsLocation) have ids, but are not types and get no nodes.
type records struct {
	g      *types.Graph
	layers []layer
	end    uint32          // one more than the last id
	budget int             // how many more bytes of names may be interned (names may overlap)
	cyclic map[uint32]bool // see findCyclic
}

type layer struct {
	*btf.Blob
	names []types.Str // by offset in Strings: the name, 0 if not looked up yet
}

// newRecords returns the records of a chain of blobs, each based on the one before it.
func newRecords(g *types.Graph, chain []*btf.Blob) (*records, error) {
	r := &records{g: g, end: 1}
	var below *btf.Blob
	for _, b := range chain {
		if b.Base != below || b.StartID != r.end {
			return nil, fmt.Errorf("BTF: not a chain of blobs that are based on each other "+
				"(types start at [%d], want [%d])", b.StartID, r.end)
		}
		r.add(b)
		below = b
	}
	return r, nil
}

// noLocations refuses BTF with sites of inlined functions. What a site says depends on the code
// that was linked, so sites can't be linked again.
func noLocations(b *btf.Blob) error {
	for i := range b.Types {
		if t := &b.Types[i]; t.Kind.IsLocation() {
			return typeError(b.StartID+uint32(i), t, "sites of inlined functions can't be linked; use "+
				"BTF without them, as btfdedup resolve-ids --inline-out makes it, or pahole without the "+
				"feature inline")
		}
	}
	return nil
}

func (r *records) add(b *btf.Blob) {
	r.layers = append(r.layers, layer{b, make([]types.Str, len(b.Strings))})
	r.end = b.EndID()
	r.budget += 4*len(b.Strings) + 1<<16
}

func (r *records) with(g *types.Graph) *records {
	c := &records{g: g, cyclic: r.cyclic}
	for _, l := range r.layers {
		c.add(l.Blob)
	}
	return c
}

// layerOf returns the index of the layer that holds an id.
func (r *records) layerOf(id uint32) int {
	i := len(r.layers) - 1
	for id < r.layers[i].StartID {
		i--
	}
	return i
}

// at returns the record of an id in 1 … end-1, and the layer that has its elements.
func (r *records) at(id uint32) (*btf.Type, *layer) {
	l := &r.layers[r.layerOf(id)]
	return &l.Types[id-l.StartID], l
}

// damagedType is like typeError, for types that no encoder writes.
func damagedType(id uint32, t *btf.Type, format string, args ...any) error {
	return typeError(id, t, format+message.Rebuild, args...)
}

func typeError(id uint32, t *btf.Type, format string, args ...any) error {
	return fmt.Errorf("BTF type [%d] %v: %s", id, t.Kind, fmt.Sprintf(format, args...))
}

func (r *records) name(off uint32) (types.Str, error) {
	if off == 0 {
		return 0, nil
	}
	l, at := r.stringAt(off)
	if at < uint32(len(l.names)) && l.names[at] != 0 {
		return l.names[at], nil
	}
	s, err := l.Name(off)
	if err != nil {
		return 0, fmt.Errorf("BTF: %w", err)
	}
	if r.budget -= len(s); r.budget < 0 {
		return 0, fmt.Errorf("BTF string section: the names overlap, and together they are many " +
			"times longer than the section" + message.Rebuild)
	}
	id := r.g.Strs.Intern(unsafe.Slice(unsafe.StringData(s), len(s)))
	if id != 0 {
		l.names[at] = id
	}
	return id, nil
}

func (r *records) named(t *btf.Type) bool {
	if t.NameOff == 0 {
		return false
	}
	l, at := r.stringAt(t.NameOff)
	return at >= uint32(len(l.Strings)) || l.Strings[at] != 0
}

// stringAt returns the layer that has the string at offset off, and its offset in that layer.
func (r *records) stringAt(off uint32) (l *layer, at uint32) {
	i := len(r.layers) - 1
	for off < r.layers[i].BaseStrLen {
		i--
	}
	return &r.layers[i], off - r.layers[i].BaseStrLen
}

// refs calls f with each type that t refers to, void included. It is a faster btf.Blob.Refs.
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

// declared returns the tag's namespace if the record only declares a tag, otherwise 0.
func (r *records) declared(t *btf.Type) types.Tag {
	tag := declared(t)
	if tag == types.TagEnum && !r.named(t) {
		return 0
	}
	return tag
}

// isTagged reports whether t declares or defines a tag, so that references to it are stubs.
func (r *records) isTagged(t *btf.Type) bool {
	return t.Kind == btf.KindFwd || types.TagOf(types.Kind(t.Kind)) != 0 && r.named(t)
}
