package object

import (
	"math"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Head returns Size, Aux and Ref of a record, as in types.Node. The size of a FUNC or VAR is 0: see
// unitsSection.sizes.
func Head(b *btf.Blob, t *btf.Type) (size, aux, ref uint32) {
	switch {
	case t.Kind.HasSize():
		size = t.SizeOrType
	case t.Kind.HasType():
		ref = t.SizeOrType
	}
	switch t.Kind {
	case btf.KindInt, btf.KindVar, btf.KindLocParam:
		aux = t.Extra
	case btf.KindFunc:
		aux = t.Vlen
	case btf.KindDeclTag:
		aux = t.Extra + 1
	case btf.KindArray:
		array := b.ArrayOf(t)
		size, ref = array.Nelems, array.Elem
	}
	return size, aux, ref
}

// Elements returns the number of elements of a record.
func Elements(t *btf.Type) uint32 {
	switch t.Kind {
	case btf.KindArray:
		return 1
	case btf.KindStruct, btf.KindUnion, btf.KindFuncProto, btf.KindEnum, btf.KindEnum64,
		btf.KindDatasec, btf.KindLocParam, btf.KindLocProto, btf.KindLocsec:
		return t.Vlen
	}
	return 0
}

// Element returns the fields of types.Elem for element i, but with a string offset and a type id.
// For a site of a LOCSEC, ref is the function; types.Elem has no room for the LOC_PROTO.
func Element(b *btf.Blob, t *btf.Type, i uint32) (nameOff, ref uint32, val uint64) {
	switch t.Kind {
	case btf.KindStruct, btf.KindUnion:
		m := &b.Members[t.First+i]
		return m.NameOff, m.Type, uint64(m.Offset)
	case btf.KindFuncProto:
		p := &b.Params[t.First+i]
		return p.NameOff, p.Type, 0
	case btf.KindEnum:
		e := &b.Enums[t.First+i]
		return e.NameOff, 0, e.Value & math.MaxUint32
	case btf.KindEnum64:
		e := &b.Enums[t.First+i]
		return e.NameOff, 0, e.Value
	case btf.KindDatasec:
		s := &b.Secinfos[t.First+i]
		return 0, s.Type, uint64(s.Offset) | uint64(s.Size)<<32
	case btf.KindLocParam:
		return 0, 0, uint64(b.Words[t.First+i])
	case btf.KindLocProto:
		return 0, b.Words[t.First+i], 0
	case btf.KindLocsec:
		s := &b.Sites[t.First+i]
		return 0, s.Func, uint64(s.Offset)
	}
	return 0, b.ArrayOf(t).Index, 0
}

// RecordKind returns the kind of the record for a node.
func RecordKind[R ~uint32](n *types.NodeOf[R]) btf.Kind {
	switch {
	case n.Kind != types.KindStub:
		return btf.Kind(n.Kind)
	case n.Tag() == types.TagEnum:
		return btf.KindEnum
	}
	return btf.KindFwd
}

// PutRecord writes the record for a node with these elements. names has the string offset of each
// name, by types.Str, and ids the type id of each type, by its number as a reference.
// Rule: enums that are only declared. They are written as an ENUM of 4 bytes. Source: kernel
// btf_enum_check_meta, btf_enum64_check_meta.
func PutRecord[R ~uint32](r *btf.Records, n *types.NodeOf[R], elems []types.ElemOf[R], names,
	ids []uint32) {
	t := btf.Type{Kind: RecordKind(n), NameOff: names[n.Name]}
	if n.Kind == types.KindStub {
		t.KFlag = n.Tag() == types.TagUnion
		if n.Tag() == types.TagEnum {
			t.SizeOrType = 4
		}
		r.Type(&t)
		return
	}
	t.SizeOrType, t.KFlag, t.Vlen = n.Size, n.Flag, uint32(len(elems))
	if t.Kind.HasType() {
		t.SizeOrType = ids[n.Ref]
	}
	switch n.Kind {
	case types.KindArray:
		t.SizeOrType, t.Vlen = 0, 0
	case types.KindInt:
		t.Extra = n.Aux
	case types.KindVar:
		t.Extra, t.KFlag = n.Aux, false // BTF has no place for the flag
	case types.KindFunc:
		t.Vlen = n.Aux
	case types.KindDeclTag:
		t.Extra = n.Aux - 1
	}
	r.Type(&t)
	for i := range elems {
		e := &elems[i]
		switch n.Kind {
		case types.KindArray:
			r.Array(btf.Array{Elem: ids[n.Ref], Index: ids[e.Ref], Nelems: n.Size})
		case types.KindEnum, types.KindEnum64:
			r.Enumerator(t.Kind, btf.Enumerator{NameOff: names[e.Name], Value: e.Val})
		case types.KindFuncProto:
			r.Param(btf.Param{NameOff: names[e.Name], Type: ids[e.Ref]})
		case types.KindDatasec:
			r.Secinfo(btf.Secinfo{Type: ids[e.Ref], Offset: uint32(e.Val), Size: uint32(e.Val >> 32)})
		default:
			r.Member(btf.Member{NameOff: names[e.Name], Type: ids[e.Ref], Offset: uint32(e.Val)})
		}
	}
}

// declared returns the tag's namespace if the record only declares a tag: if it is a FWD, or a
// named enum without enumerators. It returns 0 for all others. See also records.declared.
func declared(t *btf.Type) types.Tag {
	switch {
	case t.Kind == btf.KindFwd && t.KFlag:
		return types.TagUnion
	case t.Kind == btf.KindFwd:
		return types.TagStruct
	case t.Kind.IsEnum() && t.Vlen == 0 && t.NameOff != 0:
		return types.TagEnum
	}
	return 0
}
