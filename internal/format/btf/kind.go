package btf

import (
	"strconv"
	"strings"
)

// Kind is the kind of a BTF type record, BTF_KIND_* in include/uapi/linux/btf.h.
type Kind uint8

// The kinds of Linux 7.4.
const (
	KindVoid      Kind = 0 // type id 0; never a record
	KindInt       Kind = 1
	KindPtr       Kind = 2
	KindArray     Kind = 3
	KindStruct    Kind = 4
	KindUnion     Kind = 5
	KindEnum      Kind = 6
	KindFwd       Kind = 7
	KindTypedef   Kind = 8
	KindVolatile  Kind = 9
	KindConst     Kind = 10
	KindRestrict  Kind = 11
	KindFunc      Kind = 12
	KindFuncProto Kind = 13
	KindVar       Kind = 14
	KindDatasec   Kind = 15
	KindFloat     Kind = 16
	KindDeclTag   Kind = 17
	KindTypeTag   Kind = 18
	KindEnum64    Kind = 19
	KindLocParam  Kind = 20
	KindLocProto  Kind = 21
	KindLocsec    Kind = 22

	// NumKinds is one more than the last known kind.
	NumKinds = 23
)

// Limits of the format and of the kernels that load BTF.
const (
	// Magic is the first half-word of every blob, in the blob's own byte order.
	Magic = 0xeb9f
	// Version is the only version of the format.
	Version = 1

	// HeaderLen is the length of the header up to Linux 7.0. HeaderLenLayout is the length of the
	// longer header, which also has the offset and the length of the layout section.
	HeaderLen       = 24
	HeaderLenLayout = 32

	// MaxVlen is the largest element count that all kernels read: 16 bits (24 since Linux 7.2).
	MaxVlen = 0xffff
	// MaxVlenWide is the largest element count since Linux 7.2. Kernels that know the kinds of
	// locations (Kind.IsLocation) read it.
	MaxVlenWide = 0xffffff
	// MaxModifiers is how many modifiers (Kind.IsModifier) in a row the kernel follows in its own BTF
	// and in that of modules (kernel/bpf/btf.c: btf_check_modifier_chain_length in Linux 7.2,
	// btf_check_type_tags in older versions). The kernel accepts longer chains if each type in them
	// comes after the type that it refers to, but not all BTF can be ordered in this way. So all BTF
	// that these tools write keeps to this limit.
	// Rule: longest chain of modifiers. Each stage checks it. Source: kernel
	// btf_check_modifier_chain_length.
	MaxModifiers = 32
	// MaxTypeID is the largest type id that may be written, BTF_MAX_TYPE.
	MaxTypeID = 0xfffff
	// MaxLastTypeID is the largest id that the kernel loads: its table also has an entry for void.
	MaxLastTypeID = MaxTypeID - 1
	// MaxNameOff is the largest string offset, BTF_MAX_NAME_OFFSET. So the strings of a blob and its
	// bases together may take 16 MiB.
	MaxNameOff = 0xffffff
)

// Encodings of an INT.
const (
	IntSigned = 1
	IntChar   = 2
	IntBool   = 4
)

// Linkages of a FUNC (in Vlen) and of a VAR (in Extra).
const (
	LinkageStatic = 0
	LinkageGlobal = 1
	LinkageExtern = 2
)

// DeclTagWhole is the component index of a DECL_TAG on a whole type.
const DeclTagWhole = ^uint32(0)

var kindNames = [NumKinds]string{
	"VOID", "INT", "PTR", "ARRAY", "STRUCT", "UNION", "ENUM", "FWD", "TYPEDEF", "VOLATILE",
	"CONST", "RESTRICT", "FUNC", "FUNC_PROTO", "VAR", "DATASEC", "FLOAT", "DECL_TAG", "TYPE_TAG",
	"ENUM64", "LOC_PARAM", "LOC_PROTO", "LOCSEC",
}

// String is the kind as bpftool prints it, such as FUNC_PROTO.
func (k Kind) String() string {
	if k < NumKinds {
		return kindNames[k]
	}
	return "KIND " + strconv.Itoa(int(k))
}

// layout says how many bytes of a record follow the first 12: info bytes once, and elem bytes for
// each of the Vlen elements. The layout section has the same content.
var layout = [NumKinds]struct{ info, elem uint8 }{
	KindInt:       {4, 0},
	KindArray:     {12, 0},
	KindStruct:    {0, 12},
	KindUnion:     {0, 12},
	KindEnum:      {0, 8},
	KindFuncProto: {0, 8},
	KindVar:       {4, 0},
	KindDatasec:   {0, 12},
	KindDeclTag:   {4, 0},
	KindEnum64:    {0, 12},
	KindLocParam:  {4, 4},
	KindLocProto:  {0, 4},
	KindLocsec:    {0, 12},
}

// RecordLen is the length on the wire, in bytes, of a record of a known kind; vlen is Type.Vlen.
func (k Kind) RecordLen(vlen uint32) uint64 {
	l := layout[k]
	return 12 + uint64(l.info) + uint64(l.elem)*uint64(vlen)
}

// HasSize reports whether Type.SizeOrType is a size in bytes.
func (k Kind) HasSize() bool {
	switch k {
	case KindInt, KindStruct, KindUnion, KindEnum, KindEnum64, KindDatasec, KindFloat, KindLocParam:
		return true
	}
	return false
}

// HasType reports whether Type.SizeOrType is a type id.
func (k Kind) HasType() bool {
	switch k {
	case KindPtr, KindTypedef, KindVolatile, KindConst, KindRestrict, KindFunc, KindFuncProto, KindVar,
		KindDeclTag, KindTypeTag:
		return true
	}
	return false
}

// IsModifier reports whether the kind only adds something to the type that it refers to, without
// changing that type's size: TYPEDEF, VOLATILE, CONST, RESTRICT and TYPE_TAG.
func (k Kind) IsModifier() bool {
	switch k {
	case KindTypedef, KindVolatile, KindConst, KindRestrict, KindTypeTag:
		return true
	}
	return false
}

// IsComposite reports whether the kind has members: STRUCT or UNION.
func (k Kind) IsComposite() bool { return k == KindStruct || k == KindUnion }

// TagKind returns KindStruct, KindUnion or KindEnum for a type that defines or declares such a tag.
// For other types, it returns their kind.
func (t *Type) TagKind() Kind {
	switch {
	case t.Kind == KindFwd && t.KFlag:
		return KindUnion
	case t.Kind == KindFwd:
		return KindStruct
	case t.Kind == KindEnum64:
		return KindEnum
	}
	return t.Kind
}

// IsEnum reports whether the kind has enumerators: ENUM or ENUM64.
func (k Kind) IsEnum() bool { return k == KindEnum || k == KindEnum64 }

// IsLocation reports whether the kind describes where inlined functions and their parameters are:
// LOC_PARAM, LOC_PROTO or LOCSEC. Types of other kinds don't refer to these.
func (k Kind) IsLocation() bool { return KindLocParam <= k && k <= KindLocsec }

// MaxVlen is the largest element count that may be written in a record of this kind.
// Rule: largest vlen. The limits are MaxVlen and MaxVlenWide. Source: BTF_MAX_VLEN in
// include/uapi/linux/btf.h.
func (k Kind) MaxVlen() uint32 {
	if k.IsLocation() {
		return MaxVlenWide
	}
	return MaxVlen
}

// ParseKind returns the kind with a name such as func_proto, in upper or lower case.
func ParseKind(name string) (Kind, bool) {
	for k := KindInt; k < NumKinds; k++ {
		if strings.EqualFold(name, kindNames[k]) {
			return k, true
		}
	}
	return 0, false
}
