package object

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/elfwrite"
	"github.com/rules-btf/rules_btf/internal/types"
)

// SectionUnits is what a .btfo file has beside the section of types, btf.SectionTypes.
const SectionUnits = ".BTF.units"

// Write returns the .btfo file of an object: what is reachable from the units' items, in canonical
// order. Objects of equal meaning give equal bytes, however they were built. See docs/btfo.md for
// the format.
//
// Limits of BTF (names, numbers of types and of members) are errors that name the type.
func Write(o *Object) ([]byte, error) {
	o, err := o.normal()
	if err != nil {
		return nil, err
	}
	l, err := newLayout(o)
	if err != nil {
		return nil, err
	}
	blob, err := l.blob()
	if err != nil {
		return nil, err
	}
	blob.Order = o.Target.Order
	records, err := btf.Encode(blob, btf.EncodeOptions{})
	if err != nil {
		return nil, err
	}
	units, err := l.units(o)
	if err != nil {
		return nil, err
	}
	f := elfwrite.Object{AddrSize: o.Target.AddrSize, Order: o.Target.Order, Machine: o.Target.Machine,
		Sections: []elfwrite.Section{
			{Name: btf.SectionTypes, Data: records, Align: 8},
			{Name: SectionUnits, Data: units, Align: 1},
		}}
	return f.Bytes()
}

// normal returns o with each unit content once, and without features that mean nothing.
func (o *Object) normal() (*Object, error) {
	n := *o
	if n.Target.Order == nil {
		n.Target.Order = binary.LittleEndian
	}
	if !o.hasCandidates() {
		n.Features = o.claims().linkedFeatures()
	}
	set := newUnitSet(o.Graph)
	for _, u := range o.Units {
		if _, err := set.add(u); err != nil {
			return nil, err
		}
	}
	n.Units = set.units
	return &n, nil
}

// allocate makes the arenas for what l.order holds.
func (l *layout) allocate(b *btf.Blob) {
	var members, params, enums uint32
	for _, id := range l.order {
		switch n := l.g.Node(id); n.Kind {
		case types.KindStruct, types.KindUnion:
			members += n.Count
		case types.KindFuncProto:
			params += n.Count
		case types.KindEnum, types.KindEnum64:
			enums += n.Count
		}
	}
	b.Types = make([]btf.Type, 0, len(l.order))
	b.Members, b.Params, b.Enums = make([]btf.Member, 0, members), make([]btf.Param, 0,
		params), make([]btf.Enumerator, 0, enums)
}

// blob returns the type records.
func (l *layout) blob() (*btf.Blob, error) {
	b := &btf.Blob{StartID: 1}
	total := 0
	for _, s := range l.names {
		total += len(l.g.Strs.Bytes(s)) + 1
	}
	var strs strings.Builder
	strs.Grow(total)
	offs := make([]uint32, len(l.names))
	for i, s := range l.names {
		name := l.g.Strs.Bytes(s)
		if bytes.IndexByte(name, 0) >= 0 {
			return nil, fmt.Errorf("name %q holds a NUL byte, which BTF can't", name)
		}
		offs[i] = uint32(strs.Len())
		strs.Write(name)
		strs.WriteByte(0)
	}
	b.Strings = strs.String()
	name := func(s types.Str) uint32 { return offs[l.rank[s]] }

	l.allocate(b)
	for _, id := range l.order {
		n := l.g.Node(id)
		t := btf.Type{NameOff: name(n.Name), Kind: btf.Kind(n.Kind), KFlag: n.Flag, Vlen: n.Count}
		if t.Kind.HasSize() {
			t.SizeOrType = n.Size
		} else if t.Kind.HasType() {
			t.SizeOrType = l.id[n.Ref]
		}
		elems := l.g.ElemsOf(n)
		switch n.Kind {
		case types.KindInt, types.KindVar:
			t.Extra = n.Aux
		case types.KindDeclTag:
			t.SizeOrType, t.Extra = l.record[n.Ref], n.Aux-1
		case types.KindFunc:
			t.Vlen = n.Aux
		case types.KindArray:
			t.First, t.Vlen = uint32(len(b.Arrays)), 0
			b.Arrays = append(b.Arrays, btf.Array{Elem: l.id[n.Ref], Index: l.id[elems[0].Ref],
				Nelems: n.Size})
		case types.KindStruct, types.KindUnion:
			t.First = uint32(len(b.Members))
			for _, e := range elems {
				b.Members = append(b.Members, btf.Member{NameOff: name(e.Name), Type: l.id[e.Ref],
					Offset: uint32(e.Val)})
			}
		case types.KindEnum, types.KindEnum64:
			t.First = uint32(len(b.Enums))
			for _, e := range elems {
				b.Enums = append(b.Enums, btf.Enumerator{NameOff: name(e.Name), Value: e.Val})
			}
		case types.KindFuncProto:
			t.First = uint32(len(b.Params))
			for _, e := range elems {
				b.Params = append(b.Params, btf.Param{NameOff: name(e.Name), Type: l.id[e.Ref]})
			}
		case types.KindDatasec:
			t.First = uint32(len(b.Secinfos))
			for _, e := range elems {
				b.Secinfos = append(b.Secinfos, btf.Secinfo{Type: l.id[e.Ref], Offset: uint32(e.Val),
					Size: uint32(e.Val >> 32)})
			}
		case types.KindStub:
			if t = (btf.Type{NameOff: t.NameOff, Kind: btf.KindFwd,
				KFlag: n.Aux == uint32(types.TagUnion)}); n.Aux == uint32(types.TagEnum) {
				t.Kind, t.SizeOrType = btf.KindEnum, 4
			}
		}
		b.Types = append(b.Types, t)
	}
	return b, nil
}
