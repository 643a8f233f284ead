package convert

import (
	"bytes"
	std "debug/dwarf"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// typeRef refers to a type entry, or to void if the unit is nil.
type typeRef struct {
	u   *unit
	off uint32
}

// elem is a member, parameter or enumerator, as the DWARF gives it.
type elem struct {
	name  name
	ref   typeRef
	val   uint64
	die   uint32 // the offset of the entry of a member or parameter
	noted bool   // the elem is a member that may have annotations
}

// desc describes a type entry as a types.Node does, but its references still lead to entries.
//
// If alias is set, the entry has no separate node, and represents the type to which ref refers.
// dims lists the number of elements in each dimension of an array, in the order of the source. tags
// lists the type tags of a pointer, in the order in which they follow the pointer in BTF.
type desc struct {
	kind  types.Kind
	flag  bool
	alias bool
	stub  bool // the type is only a reference to the tag given by kind and name
	size  uint32
	aux   uint32
	name  name
	ref   typeRef
	elems []elem // in the converter's scratch space
	dims  []uint32
	tags  []note
}

// ref resolves the reference in attribute s of e.
func (u *unit) ref(e *dwarf.DIE, s dwarf.Attr) (typeRef, error) {
	return u.refTo(e.Off, e.Value(s))
}

// refTo resolves the reference in attribute a of the entry at offset die.
// Rule: references to DIEs, also in other units and files.
func (u *unit) refTo(die uint32, a dwarf.Value) (typeRef, error) {
	v := a.Val
	switch a.Class {
	case dwarf.ClassNone:
		return typeRef{}, nil
	case dwarf.ClassRef:
		if v < uint64(u.r.Unit.HeaderLen) || v >= u.r.Unit.Len {
			return typeRef{}, u.r.Damaged(die, "a reference to offset %#x is outside of the unit", v)
		}
		return typeRef{u, uint32(v)}, nil
	case dwarf.ClassRefAddr:
		return u.refAddr(die, v)
	case dwarf.ClassRefSup:
		h := u.r.D.UnitAtSup(v)
		if h == nil {
			return typeRef{}, u.r.Damaged(die, "a reference leads to offset %#x in the "+
				"supplementary file (dwz -m), but no unit there contains that offset", v)
		}
		return u.refInto(h, uint32(v-h.Off))
	case dwarf.ClassSig:
		h := u.r.D.TypeUnit(v)
		if h == nil {
			return typeRef{}, u.r.Damaged(die, "the file has no type unit with signature %#x", v)
		}
		o, err := u.c.foreign(u.r.D, h)
		return typeRef{o, uint32(h.TypeOffset)}, err
	}
	return typeRef{}, u.r.Damaged(die, "a reference has an invalid form")
}

func (u *unit) refInto(h *dwarf.Unit, off uint32) (typeRef, error) {
	if h == u.r.Unit {
		return typeRef{u, off}, nil
	}
	o, err := u.c.foreign(u.r.D, h)
	return typeRef{o, off}, err
}

func (u *unit) nameAndType(e *dwarf.DIE) (n name, t typeRef, err error) {
	if n, err = u.identifier(e, dwarf.Name); err == nil {
		t, err = u.ref(e, dwarf.Type)
	}
	return n, t, err
}

// Rule: type of a DIE. Source: pahole btf_encoder__encode_tag; dwarf_loader.c __die__process_tag.
func (u *unit) describe(off uint32) (desc, error) {
	var e dwarf.DIE
	if err := u.r.Read(off, &e); err != nil {
		return desc{}, err
	}
	return u.describeDIE(&e)
}

func (u *unit) describeDIE(e *dwarf.DIE) (d desc, err error) {
	if e.Null {
		return d, u.r.Damaged(e.Off, "a reference to a type does not point to an entry")
	}
	if dwarf.IsTagged(e.Tag) {
		return u.describeTagged(e)
	}
	switch e.Tag {
	case std.TagArrayType:
		return u.describeArray(e)
	case std.TagSubroutineType:
		return u.describeProto(e)
	case std.TagPointerType, std.TagReferenceType, std.TagRvalueReferenceType: // C++ has all three
		d.kind = types.KindPtr
		if d.tags, err = u.typeTags(e); err != nil {
			return d, err
		}
	case std.TagConstType:
		d.kind = types.KindConst
	case std.TagVolatileType:
		d.kind = types.KindVolatile
	case std.TagRestrictType:
		d.kind = types.KindRestrict
	case std.TagAtomicType:
		d.alias = true // BTF can't express _Atomic; use the type of the value
	case std.TagUnspecifiedType:
		null, err := u.isNullPointer(e)
		d.kind, d.alias = types.KindPtr, !null
		return d, err
	case std.TagTypedef:
		d.kind = types.KindTypedef
		d.name, d.ref, err = u.nameAndType(e)
		d.alias = d.name.class == dwarf.ClassNone
		return d, err
	case std.TagBaseType:
		return u.describeBase(e)
	default:
		return d, u.unencodable(e.Off, "%s", tagName(e.Tag))
	}
	d.ref, err = u.ref(e, dwarf.Type)
	return d, err
}

// isNullPointer reports whether an unspecified type is the type of nullptr in C23 and C++. That
// type is encoded as a pointer to void, because the sizes and alignments are equal. Compilers name
// it "decltype(nullptr)" (DWARF 5, 5.2), except that gcc names it "typeof (nullptr)" in C. Other
// unspecified types are void.
// Rule: nullptr: its type is a pointer to void. Source: pahole writes void.
func (u *unit) isNullPointer(e *dwarf.DIE) (bool, error) {
	n, err := u.r.String(e, dwarf.Name)
	return bytes.Contains(n, []byte("nullptr")), err
}

// DW_ATE codes (DWARF 5, 7.8), and the corresponding BTF_INT_SIGNED and BTF_INT_BOOL.
const (
	ateBoolean, ateComplexFloat, ateFloat  = 0x02, 0x03, 0x04
	ateSigned, ateSignedChar, ateImaginary = 0x05, 0x06, 0x09
	encSigned, encBool                     = 1, 4
)

// Rule: base types. Source: pahole btf_encoder__add_base_type.
func (u *unit) describeBase(e *dwarf.DIE) (d desc, err error) {
	if d.name, err = u.name(e, dwarf.Name); err != nil {
		return d, err
	}
	size := uint64(0)
	if e.Constant(dwarf.ByteSize) {
		size = e.Val[dwarf.ByteSize]
	} else if e.Constant(dwarf.BitSize) {
		size = (e.Val[dwarf.BitSize] + 7) / 8
	}
	enc := e.Value(dwarf.Encoding).Val
	isFloat := enc == ateFloat || enc == ateComplexFloat || enc == ateImaginary
	if isFloat && u.c.in.has(features.Float) {
		switch size {
		case 2, 4, 8, 12, 16:
			d.kind, d.size = types.KindFloat, uint32(size)
			return d, nil
		}
	}
	var encoding uint32
	switch enc {
	case ateBoolean:
		encoding = encBool
	case ateSigned, ateSignedChar:
		encoding = encSigned
	}
	if size == 0 && e.Constant(dwarf.ByteSize) {
		return desc{kind: types.KindStruct}, nil // an empty struct, such as Rust's ()
	}
	if size == 0 || size > 16 || size&(size-1) != 0 {
		return u.fakeInt(e, encoding, size) // such as a complex long double
	}
	d.kind, d.size, d.aux = types.KindInt, uint32(size), encoding<<24|uint32(size*8)
	return d, nil
}

func (u *unit) describeTagged(e *dwarf.DIE) (d desc, err error) {
	switch e.Tag {
	case std.TagUnionType:
		d.kind = types.KindUnion
	case std.TagEnumerationType:
		d.kind = types.KindEnum
	default:
		d.kind = types.KindStruct
	}
	if d.name, err = u.identifier(e, dwarf.Name); err != nil {
		return d, err
	}
	if e.Has(dwarf.Signature) {
		d.alias = true
		d.ref, err = u.ref(e, dwarf.Signature)
		return d, err
	}
	if d.name.class == dwarf.ClassNone {
		if d.name, err = u.declaredName(e); err != nil {
			return d, err
		}
	}
	if d.name.class != dwarf.ClassNone {
		d.stub = true
		return d, nil
	}
	if e.Flag(dwarf.Declaration) {
		return d, u.unencodable(e.Off, "a type that has neither a name nor a definition (compile "+
			"without -femit-struct-debug-*, CONFIG_DEBUG_INFO_REDUCED)")
	}
	u.c.noteUncovered(e) // the name may be empty
	return d, u.define(e, &d)
}

// declaredName returns the name of the declaration that e completes, if the declaration is in the
// same unit. In C++ the declaration may be inside another type.
func (u *unit) declaredName(e *dwarf.DIE) (name, error) {
	t, err := u.ref(e, dwarf.Specification)
	if err != nil || t.u != u {
		return name{}, err
	}
	var declaration dwarf.DIE
	if err := u.r.Read(t.off, &declaration); err != nil {
		return name{}, err
	}
	return u.identifier(&declaration, dwarf.Name)
}

// define completes the description of a struct, union or enum with its content.
func (u *unit) define(e *dwarf.DIE, d *desc) error {
	known := e.Constant(dwarf.ByteSize) // otherwise the size is computed
	size := e.Val[dwarf.ByteSize]
	d.stub = false
	if d.kind == types.KindEnum {
		if !known {
			t, err := u.ref(e, dwarf.Type)
			if err == nil {
				size, err = t.size(0)
			}
			if err != nil {
				return err
			}
		}
		switch size {
		case 1, 2, 4, 8:
		default:
			return u.unencodable(e.Off, "an enum of %d bytes", size)
		}
		d.size = uint32(size)
		return u.enumerators(e, d)
	}
	if !known {
		size = 0
	}
	if size > 1<<32-1 {
		return u.unencodable(e.Off, "a size of %d bytes", size)
	}
	d.size = uint32(size)
	if err := u.members(e, d); err != nil {
		return err
	}
	switch {
	case known && u.isRust():
		return d.cut()
	case !known || d.overflows():
		return d.extend()
	}
	return nil
}

// overflows reports whether a member begins beyond the size that the DWARF states.
func (d *desc) overflows() bool {
	return len(d.elems) > 0 && (d.bit(len(d.elems)-1)+7)/8 > uint64(d.size)
}

// extend makes a struct large enough for its members, because the kernel refuses members beyond the
// end (btf_struct_check_meta, btf_struct_check_member and others). It is called for a struct whose
// size is computed, and for a struct with a member that begins beyond the size in the DWARF. If a
// member begins within that size but ends beyond it, the size is kept, and btfdedup verify reports
// the struct. (For Rust, cut removes such members.)
// Rule: size of a struct that its members exceed.
func (d *desc) extend() error {
	for i := range d.elems {
		end, err := d.end(&d.elems[i])
		if err != nil {
			return err
		}
		d.size = max(d.size, uint32(min(end, 1<<32-1)))
	}
	return nil
}

// cut removes members that are not entirely inside the struct. rustc writes such members for
// unsized types: for example, CStr has size 0, and yet a member for its text.
func (d *desc) cut() error {
	kept := d.elems[:0]
	for _, m := range d.elems {
		end, err := d.end(&m)
		if err != nil {
			return err
		}
		if end <= uint64(d.size) {
			kept = append(kept, m)
		}
	}
	d.elems = kept
	return nil
}

func (d *desc) bit(i int) uint64 {
	if d.flag {
		return d.elems[i].val & (1<<24 - 1)
	}
	return d.elems[i].val & (1<<32 - 1)
}

// end returns the byte offset at which a member ends.
func (d *desc) end(m *elem) (uint64, error) {
	at, bits := m.val&(1<<32-1), m.val>>32
	if d.flag {
		at, bits = m.val&(1<<24-1), m.val>>24
	}
	if bits == 0 {
		size, err := m.ref.size(0)
		if err != nil {
			return 0, err
		}
		bits = 8 * min(size, 1<<32)
	}
	return (at + bits + 7) / 8, nil
}

// maxChain bounds the length of chains of references, such as abstract origins.
const maxChain = 64

// Rule: arrays and their index types. Source: pahole btf_encoder__add_array; array_type__nelems.
func (u *unit) describeArray(e *dwarf.DIE) (d desc, err error) {
	d.kind = types.KindArray
	if d.ref, err = u.ref(e, dwarf.Type); err != nil {
		return d, err
	}
	var c dwarf.DIE
	for err := range u.r.Children(e, &c, std.TagSubrangeType, std.TagEnumerationType) {
		if err != nil {
			return d, err
		}
		d.dims = append(d.dims, arrayCount(&c))
	}
	if len(d.dims) == 0 {
		d.dims = append(d.dims, 0)
	}
	return d, nil
}

// arrayCount returns the number of elements in one dimension. It returns 0 for flexible and
// variable-length arrays, and for a number that doesn't fit in BTF's 32 bits.
func arrayCount(c *dwarf.DIE) uint32 {
	var n uint64
	switch {
	case c.Constant(dwarf.Count):
		n = c.Val[dwarf.Count]
	case c.Constant(dwarf.UpperBound):
		n = c.Val[dwarf.UpperBound] + 1
	}
	if n > 1<<32-1 {
		return 0
	}
	return uint32(n)
}

func (u *unit) describeProto(e *dwarf.DIE) (d desc, err error) {
	d.kind = types.KindFuncProto
	if d.ref, err = u.ref(e, dwarf.Type); err != nil {
		return d, err
	}
	start := len(u.c.scratch.elems)
	f, err := u.r.Function(e)
	if err != nil {
		return d, err
	}
	for i := range f.Parameters {
		p := &f.Parameters[i]
		to := elem{die: p.Off}
		if !p.Varying {
			if to.name, err = u.nameOf(p.Off, p.Name); err == nil {
				to.name, err = u.spelled(p.Off, to.name)
			}
			if err != nil {
				return d, err
			}
			if to.ref, err = u.refTo(p.Off, p.Type); err != nil {
				return d, err
			}
		}
		u.c.scratch.elems = append(u.c.scratch.elems, to)
	}
	d.elems = u.c.scratch.elems[start:]
	return d, nil
}
