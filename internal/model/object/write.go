package object

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// SectionUnits is what a .btfo file has besides the section of types, btf.SectionTypes.
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
	num, err := number(o)
	if err != nil {
		return nil, err
	}
	records, err := num.records(o.Target.Order)
	if err != nil {
		return nil, err
	}
	units, err := num.units(o)
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

// records returns the content of .BTF.
func (num *numbering) records(order binary.ByteOrder) ([]byte, error) {
	offs := make([]uint32, len(num.names)) // of the names, by rank
	strLen := 0
	for i, s := range num.names {
		name := num.g.Strs.Bytes(s)
		if bytes.IndexByte(name, 0) >= 0 {
			return nil, fmt.Errorf("name %q holds a NUL byte, which BTF can't", name)
		}
		offs[i] = uint32(strLen)
		strLen += len(name) + 1
	}
	typeLen := uint64(0)
	for i, id := range num.order {
		n := num.g.Node(id)
		kind := btf.Kind(n.Kind)
		if n.Kind == types.KindStub {
			kind = btf.KindFwd
		}
		if n.Count > btf.MaxVlen {
			return nil, btf.VlenError(uint32(i+1), kind, num.g.Name(n), n.Count)
		}
		typeLen += kind.RecordLen(n.Count)
	}
	b := btf.Blob{Order: order, StartID: 1}
	m, err := btf.NewImage(&b, len(num.order), typeLen, strLen, btf.EncodeOptions{})
	if err != nil {
		return nil, err
	}
	for i, s := range num.names {
		copy(m.Strings[offs[i]:], num.g.Strs.Bytes(s))
	}
	r := m.Records(0)
	for _, id := range num.order {
		num.putType(&r, num.g.Node(id), offs)
	}
	return m.Finish(), nil
}

// putType writes the record of n.
func (num *numbering) putType(r *btf.Records, n *types.Node, offs []uint32) {
	name := func(s types.Str) uint32 { return offs[num.rank[s]] }
	t := btf.Type{NameOff: name(n.Name), Kind: btf.Kind(n.Kind), Vlen: n.Count,
		KFlag: n.Flag && n.Kind != types.KindVar} // of these, units has it
	if t.Kind.HasSize() {
		t.SizeOrType = n.Size
	} else if t.Kind.HasType() {
		t.SizeOrType = num.id[n.Ref]
	}
	switch n.Kind {
	case types.KindInt, types.KindVar:
		t.Extra = n.Aux
	case types.KindDeclTag:
		t.SizeOrType, t.Extra = num.record[n.Ref], n.Aux-1
	case types.KindFunc:
		t.Vlen = n.Aux
	case types.KindArray:
		t.Vlen = 0
	case types.KindStub:
		t.Kind, t.KFlag = btf.KindFwd, n.Aux == uint32(types.TagUnion)
		if n.Aux == uint32(types.TagEnum) {
			t.Kind, t.SizeOrType = btf.KindEnum, 4
		}
	}
	r.Type(&t)
	for _, e := range num.g.ElemsOf(n) {
		name, ref := name(e.Name), num.id[e.Ref]
		switch n.Kind {
		case types.KindArray:
			r.Array(btf.Array{Elem: num.id[n.Ref], Index: ref, Nelems: n.Size})
		case types.KindStruct, types.KindUnion:
			r.Member(btf.Member{NameOff: name, Type: ref, Offset: uint32(e.Val)})
		case types.KindEnum, types.KindEnum64:
			r.Enumerator(t.Kind, btf.Enumerator{NameOff: name, Value: e.Val})
		case types.KindFuncProto:
			r.Param(btf.Param{NameOff: name, Type: ref})
		case types.KindDatasec:
			r.Secinfo(btf.Secinfo{Type: ref, Offset: uint32(e.Val), Size: uint32(e.Val >> 32)})
		}
	}
}
