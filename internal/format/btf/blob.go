// Package btf converts BTF blobs to and from flat records, without resolving anything.
//
// A Blob is a slice of fixed-size Type records. On the wire, a record is followed by its elements
// (members, parameters, enumerators …). Here, elements are in arenas, one per sort of element;
// Type.First is the index of the record's first element. No record has a pointer, so the 150,000
// types of a kernel cost a handful of allocations. Type ids and string offsets are the same as on
// the wire: a split blob's ids begin where the ids of its base end. The format is described in
// include/uapi/linux/btf.h of Linux 7.4. Parse checks only what is needed to walk the bytes;
// package verify checks the meaning.
package btf

import (
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Type is one type record. Which fields are used depends on Kind.
type Type struct {
	NameOff    uint32 // string offset of the name, or 0 if anonymous
	SizeOrType uint32 // size in bytes (Kind.HasSize) or a type id (Kind.HasType); otherwise 0
	Vlen       uint32 // number of elements in the kind's arena; for FUNC the linkage
	// INT: encoding<<24 | bit offset<<16 | bits; VAR: linkage; DECL_TAG: component index;
	// LOC_PARAM: flags (LocSigned …)
	Extra uint32
	First uint32 // index of the first element in the kind's arena
	Kind  Kind
	// in a STRUCT or UNION: member offsets include bitfield sizes; in a FWD: it declares a union;
	// in an ENUM or ENUM64: values are signed; in a DECL_TAG or TYPE_TAG: the tag is an attribute
	KFlag bool
}

// Member is one member of a STRUCT or UNION.
type Member struct {
	NameOff uint32
	Type    uint32
	Offset  uint32 // in bits; if the type has KFlag: bitfield size<<24 | bit offset
}

// Bits splits Offset into the bit offset and the bitfield's size in bits (0 for a plain member).
func (m Member) Bits(kflag bool) (offset, size uint32) {
	if kflag {
		return m.Offset & 0xffffff, m.Offset >> 24
	}
	return m.Offset, 0
}

// Param is one parameter of a FUNC_PROTO. The last one represents "..." if all its fields are 0.
type Param struct {
	NameOff uint32
	Type    uint32
}

// Enumerator is one value of an ENUM or ENUM64. For an ENUM, Value is the 32 bits on the wire,
// sign-extended if the type has KFlag.
type Enumerator struct {
	Value   uint64
	NameOff uint32
}

// Secinfo is one variable of a DATASEC.
type Secinfo struct {
	Type   uint32 // a VAR
	Offset uint32 // in bytes, from the start of the section
	Size   uint32 // in bytes
}

// Array is the body of an ARRAY.
type Array struct {
	Elem   uint32 // type id of the elements
	Index  uint32 // type id of the index
	Nelems uint32
}

// Blob is one BTF blob. The types of the blob itself have the ids StartID, StartID+1 …; smaller ids
// and string offsets under BaseStrLen belong to Base.
type Blob struct {
	Order binary.ByteOrder // LittleEndian or BigEndian; nil means little endian

	Types    []Type
	Members  []Member     // arena of STRUCT and UNION
	Params   []Param      // arena of FUNC_PROTO
	Enums    []Enumerator // arena of ENUM and ENUM64
	Secinfos []Secinfo    // arena of DATASEC
	Arrays   []Array      // arena of ARRAY: one for each type
	Words    []uint32     // arena of LOC_PARAM (values) and LOC_PROTO (type ids)
	Sites    []Site       // arena of LOCSEC

	// Strings is the blob's own string section: names, each terminated with NUL. In a blob without a
	// base, the first name is empty.
	Strings string

	Base       *Blob  // nil if there is none
	StartID    uint32 // id of Types[0]; 1 without a base
	BaseStrLen uint32 // string offset at which Strings begins; 0 without a base

	ends []uint32 // the indices of the NULs in Strings, if it has a long string; see findEnds

	Header Header // as read; Encode doesn't use it
	Origin Origin // the ELF file that the blob was read from
}

// Origin has what the ELF file that holds BTF says about the kernel. It is zero for raw BTF.
type Origin struct {
	Machine  uint16 // e_machine
	AddrSize int    // bytes of an address: 4 or 8
	Release  string // as uname -r prints it; "" if the file doesn't say (elf.File.KernelRelease)
}

// OriginOf returns the Origin of BTF in f.
func OriginOf(f *elf.File) Origin {
	return Origin{uint16(f.Machine), f.AddrSize, f.KernelRelease()}
}

// Header is a blob's header as read.
type Header struct {
	HdrLen               uint32
	TypeOff, TypeLen     uint32 // from the end of the header, in bytes
	StrOff, StrLen       uint32
	LayoutOff, LayoutLen uint32 // 0 if there is no layout section
}

// EndID is one more than the last type id.
func (b *Blob) EndID() uint32 { return b.StartID + uint32(len(b.Types)) }

// EndStr is one more than the last string offset.
func (b *Blob) EndStr() uint32 { return b.BaseStrLen + uint32(len(b.Strings)) }

// EndsOnly reports whether b is a base of which only the byte order, EndID and EndStr are known.
func (b *Blob) EndsOnly() bool { return b != nil && b.Base == nil && b.StartID > 1 }

// ByID finds a type in this blob or its bases. It also returns the blob whose arenas hold the
// type's elements. For id 0 (void) and for ids that do not exist, it returns nil, nil.
// Rule: type ids and string offsets in split BTF and its bases. Source: libbpf btf__type_by_id.
func (b *Blob) ByID(id uint32) (*Type, *Blob) {
	for ; b != nil; b = b.Base {
		if id < b.StartID {
			continue
		}
		if i := id - b.StartID; i < uint32(len(b.Types)) {
			return &b.Types[i], b
		}
		return nil, nil
	}
	return nil, nil
}

// All iterates over the types of the blob and then of its bases, with their ids.
func (b *Blob) All() iter.Seq2[uint32, *Type] {
	return func(yield func(uint32, *Type) bool) {
		for o := b; o != nil; o = o.Base {
			for i := range o.Types {
				if !yield(o.StartID+uint32(i), &o.Types[i]) {
					return
				}
			}
		}
	}
}

// Name is the string at an offset, from the blob or its bases.
// Rule: type ids and string offsets in split BTF and its bases. Source: libbpf btf__str_by_offset.
func (b *Blob) Name(off uint32) (string, error) {
	for o := b; o != nil; o = o.Base {
		if off < o.BaseStrLen {
			continue
		}
		i := off - o.BaseStrLen
		if i >= uint32(len(o.Strings)) {
			if off == 0 {
				return "", nil
			}
			break
		}
		end := o.endOf(i)
		if end < 0 {
			return "", fmt.Errorf("string at offset %d has no end"+message.Rebuild, off)
		}
		return o.Strings[i:end], nil
	}
	return "", fmt.Errorf("string offset %d is past the end of the string section (%d "+
		"bytes)"+message.Rebuild, off, b.EndStr())
}

// TypeName is the name of a type of this blob or its bases, or "" if it has no valid name.
func (b *Blob) TypeName(t *Type) string {
	if t == nil || t.NameOff == 0 {
		return ""
	}
	s, _ := b.Name(t.NameOff)
	return s
}

// KindName is the kind and name (if any) of a type in this blob or its bases, as in "STRUCT sock".
func (b *Blob) KindName(t *Type) string {
	if name := b.TypeName(t); name != "" {
		return t.Kind.String() + " " + name
	}
	return t.Kind.String()
}

// MembersOf returns the members of a STRUCT or UNION that is in b itself, not in a base.
func (b *Blob) MembersOf(t *Type) []Member { return b.Members[t.First : t.First+t.Vlen] }

// ParamsOf returns the parameters of a FUNC_PROTO that is in b itself.
func (b *Blob) ParamsOf(t *Type) []Param { return b.Params[t.First : t.First+t.Vlen] }

// EnumsOf returns the values of an ENUM or ENUM64 that is in b itself.
func (b *Blob) EnumsOf(t *Type) []Enumerator { return b.Enums[t.First : t.First+t.Vlen] }

// SecinfosOf returns the entries of a DATASEC that is in b itself.
func (b *Blob) SecinfosOf(t *Type) []Secinfo { return b.Secinfos[t.First : t.First+t.Vlen] }

// ArrayOf returns the body of an ARRAY that is in b itself.
func (b *Blob) ArrayOf(t *Type) Array { return b.Arrays[t.First] }

// Ref returns a pointer to the n-th type id (counted from 0) in t, a record in b itself, or nil if
// t has fewer ids. References to void (0) count. The order is that of the record: in a FUNC_PROTO,
// the return type, then the parameters; in an ARRAY, the element type, then the index type; in a
// LOCSEC, for each site the function, then the LOC_PROTO.
func (b *Blob) Ref(t *Type, n uint32) *uint32 {
	switch t.Kind {
	case KindStruct, KindUnion:
		if n < t.Vlen {
			return &b.Members[t.First+n].Type
		}
	case KindDatasec:
		if n < t.Vlen {
			return &b.Secinfos[t.First+n].Type
		}
	case KindArray:
		switch n {
		case 0:
			return &b.Arrays[t.First].Elem
		case 1:
			return &b.Arrays[t.First].Index
		}
	case KindFuncProto:
		if n == 0 {
			return &t.SizeOrType
		}
		if n--; n < t.Vlen {
			return &b.Params[t.First+n].Type
		}
	case KindLocProto:
		if n < t.Vlen {
			return &b.Words[t.First+n]
		}
	case KindLocsec:
		if n/2 < t.Vlen {
			return b.Sites[t.First+n/2].ref(n % 2)
		}
	default:
		if n == 0 && t.Kind.HasType() {
			return &t.SizeOrType
		}
	}
	return nil
}

// Refs iterates over the type ids that Ref returns, in order.
func (b *Blob) Refs(t *Type) iter.Seq[*uint32] {
	return func(yield func(*uint32) bool) {
		for n := uint32(0); ; n++ {
			if ref := b.Ref(t, n); ref == nil || !yield(ref) {
				return
			}
		}
	}
}

// Names iterates over the string offsets of the names in t, a type in b itself: t's own name, then
// the names of its members, enumerators or parameters, in order.
func (b *Blob) Names(t *Type) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if !yield(t.NameOff) {
			return
		}
		switch {
		case t.Kind.IsComposite():
			for _, m := range b.MembersOf(t) {
				if !yield(m.NameOff) {
					return
				}
			}
		case t.Kind.IsEnum():
			for _, e := range b.EnumsOf(t) {
				if !yield(e.NameOff) {
					return
				}
			}
		case t.Kind == KindFuncProto:
			for _, p := range b.ParamsOf(t) {
				if !yield(p.NameOff) {
					return
				}
			}
		}
	}
}
