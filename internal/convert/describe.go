package convert

import (
	std "debug/dwarf"
	"encoding/binary"

	"github.com/rules-btf/rules_btf/internal/dwarf"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/types"
)

// typeRef names a type entry. A nil unit is void.
type typeRef struct {
	u   *unit
	off uint32
}

// elem is a member, parameter or enumerator as it stands in the DWARF.
type elem struct {
	name name
	ref  typeRef
	val  uint64
}

// desc describes a type entry in the terms of types.Node, its references still being entries.
//
// A description with alias set has no node of its own: the entry means what ref means. dims, for an array, are the
// element counts of its dimensions, outermost first. tags, for a pointer, are the type tags between it and its pointee,
// in the order in which they follow the pointer.
type desc struct {
	kind  types.Kind
	flag  bool
	alias bool
	stub  bool // refers to a tag: kind, name
	size  uint32
	aux   uint32
	name  name
	ref   typeRef
	elems []elem // in the converter's scratch space
	dims  []uint32
	tags  []name
}

// fakeInt is the name under which pahole 1.32 encodes base types that BTF's INT can't express.
var fakeInt = []byte("__SANITIZED_FAKE_INT__")

// ref resolves attribute s of e.
func (u *unit) ref(e *dwarf.DIE, s dwarf.Slot) (typeRef, error) {
	if !e.Has(s) {
		return typeRef{}, nil
	}
	v := e.Val[s]
	switch e.Class[s] {
	case dwarf.ClassRef:
		if v < uint64(u.r.Unit.HeaderLen) || v >= u.r.Unit.Len {
			return typeRef{}, u.r.Errorf(e.Off, "a reference to %#x leaves the unit", v)
		}
		return typeRef{u, uint32(v)}, nil
	case dwarf.ClassRefAddr:
		h := u.c.d.UnitAt(u.r.Unit.Section, v)
		if h == nil {
			return typeRef{}, u.r.Errorf(e.Off, "a reference to %#x meets no unit", v)
		}
		if h == u.r.Unit {
			return typeRef{u, uint32(v - h.Off)}, nil
		}
		o, err := u.c.foreign(h)
		return typeRef{o, uint32(v - h.Off)}, err
	case dwarf.ClassSig:
		h := u.c.d.TypeUnit(v)
		if h == nil {
			return typeRef{}, u.r.Errorf(e.Off, "no type unit with signature %#x in this file", v)
		}
		o, err := u.c.foreign(h)
		return typeRef{o, uint32(h.TypeOffset)}, err
	case dwarf.ClassSup:
		return typeRef{}, u.r.Errorf(e.Off, "a reference into a supplementary file (dwz -m), which is not read; run dwz without -m")
	}
	return typeRef{}, u.r.Errorf(e.Off, "a reference in a form that is none")
}

// describe reads the type entry at off.
func (u *unit) describe(off uint32) (desc, error) {
	e := &u.c.die
	if err := u.r.Read(off, e); err != nil {
		return desc{}, err
	}
	return u.describeDIE(e)
}

// describeDIE describes e. It may use the converter's scratch entries, but not u.c.die, so e may be that.
func (u *unit) describeDIE(e *dwarf.DIE) (d desc, err error) {
	if e.Null {
		return d, u.r.Errorf(e.Off, "a type reference meets no entry")
	}
	switch e.Tag {
	case std.TagStructType, std.TagClassType, std.TagUnionType, std.TagEnumerationType:
		return u.describeTagged(e)
	case std.TagArrayType:
		return u.describeArray(e)
	case std.TagSubroutineType:
		return u.describeProto(e)
	case std.TagPointerType:
		d.kind = types.KindPtr
		if e.Children || e.Has(dwarf.Annotation) {
			if d.tags, err = u.typeTags(e); err != nil {
				return d, err
			}
		}
	case std.TagConstType:
		d.kind = types.KindConst
	case std.TagVolatileType:
		d.kind = types.KindVolatile
	case std.TagRestrictType:
		d.kind = types.KindRestrict
	case std.TagAtomicType:
		d.alias = true // BTF has no word for _Atomic; the type is that of its value
	case std.TagUnspecifiedType:
		d.alias = true
		return d, nil
	case std.TagTypedef:
		d.kind = types.KindTypedef
		if d.name, err = u.name(e, dwarf.Name); err != nil {
			return d, err
		}
		if d.name.class == dwarf.ClassNone {
			d.alias = true
		}
	case std.TagBaseType:
		return u.describeBase(e)
	default:
		return d, u.unencodable(e.Off, "%s", tagName(e.Tag))
	}
	d.ref, err = u.ref(e, dwarf.Type)
	return d, err
}

func (u *unit) describeBase(e *dwarf.DIE) (d desc, err error) {
	const (
		ateBoolean      = 0x02
		ateComplexFloat = 0x03
		ateFloat        = 0x04
		ateSigned       = 0x05
		ateSignedChar   = 0x06
		ateImaginary    = 0x09
		encSigned       = 1
		encBool         = 4
	)
	if d.name, err = u.name(e, dwarf.Name); err != nil {
		return d, err
	}
	size := uint64(0)
	if e.Has(dwarf.ByteSize) {
		size = e.Val[dwarf.ByteSize]
	} else if e.Has(dwarf.BitSize) {
		size = (e.Val[dwarf.BitSize] + 7) / 8
	}
	enc := uint64(0)
	if e.Has(dwarf.Encoding) {
		enc = e.Val[dwarf.Encoding]
	}
	if enc == ateFloat || enc == ateComplexFloat || enc == ateImaginary {
		valid := size == 2 || size == 4 || size == 8 || size == 12 || size == 16 || (enc == ateComplexFloat && size == 32)
		if valid && u.c.opt.Features.Has(features.Float) {
			d.kind, d.size = types.KindFloat, uint32(size)
			if size == 32 { // FLOAT ends at 16 bytes: a pair of long doubles
				return u.fakeInt(), nil
			}
			return d, nil
		}
	}
	if size == 0 || size > 16 || size&(size-1) != 0 {
		return u.fakeInt(), nil
	}
	word := uint32(size * 8)
	switch enc {
	case ateBoolean:
		word |= encBool << 24
	case ateSigned, ateSignedChar:
		word |= encSigned << 24
	}
	d.kind, d.size, d.aux = types.KindInt, uint32(size), word
	return d, nil
}

func (u *unit) fakeInt() desc {
	return desc{kind: types.KindInt, size: 4, aux: 32, name: name{hash: types.HashString(fakeInt), class: classFakeInt}}
}

// classFakeInt marks the one name that comes from no section.
const classFakeInt dwarf.Class = 0xff

func (u *unit) describeTagged(e *dwarf.DIE) (d desc, err error) {
	switch e.Tag {
	case std.TagUnionType:
		d.kind = types.KindUnion
	case std.TagEnumerationType:
		d.kind = types.KindEnum
	default:
		d.kind = types.KindStruct
	}
	if d.name, err = u.name(e, dwarf.Name); err != nil {
		return d, err
	}
	if e.Has(dwarf.Signature) && e.Class[dwarf.Signature] == dwarf.ClassSig {
		d.alias = true
		d.ref, err = u.ref(e, dwarf.Signature)
		return d, err
	}
	if d.name.class != dwarf.ClassNone {
		d.stub = true
		return d, nil
	}
	if e.Has(dwarf.Specification) {
		d.alias = true
		d.ref, err = u.ref(e, dwarf.Specification)
		return d, err
	}
	return d, u.define(e, &d)
}

// define completes the description of a struct, union or enum with its content.
func (u *unit) define(e *dwarf.DIE, d *desc) error {
	if e.Has(dwarf.ByteSize) {
		size := e.Val[dwarf.ByteSize]
		if size > 1<<32-1 {
			return u.unencodable(e.Off, "a size of %d bytes", size)
		}
		d.size = uint32(size)
	}
	d.stub = false
	if d.kind == types.KindEnum {
		return u.enumerators(e, d)
	}
	return u.members(e, d)
}

// enumerators fills d with the enumerators of e. An enum wider than 4 bytes is an ENUM64.
func (u *unit) enumerators(e *dwarf.DIE, d *desc) error {
	signed, known, err := u.enumSign(e)
	if err != nil {
		return err
	}
	wide := d.size > 4
	if wide && !u.c.opt.Features.Has(features.Enum64) {
		wide, d.size = false, 4
	}
	start := len(u.c.elems)
	negative := false
	c := &u.c.child
	for off := e.Next; e.Children; {
		if err := u.r.Read(off, c); err != nil {
			return err
		}
		if c.Null {
			break
		}
		if c.Tag == std.TagEnumerator {
			n, err := u.name(c, dwarf.Name)
			if err != nil {
				return err
			}
			var v uint64
			if c.Has(dwarf.ConstValue) {
				v = c.Val[dwarf.ConstValue]
				if c.Class[dwarf.ConstValue] == dwarf.ClassBlock {
					v = blockConst(u.r.Block(v), u.c.d.Order)
				}
			}
			negative = negative || int64(v) < 0
			if !wide {
				v &= 1<<32 - 1
			}
			u.c.elems = append(u.c.elems, elem{name: n, val: v})
		}
		if off, err = u.r.SkipChildren(c); err != nil {
			return err
		}
	}
	d.elems = u.c.elems[start:]
	if wide {
		d.kind = types.KindEnum64
	}
	d.flag = signed || (!known && negative)
	return nil
}

// blockConst reads a constant that stands in a block.
func blockConst(b []byte, order binary.ByteOrder) uint64 {
	var v uint64
	for i := range min(len(b), 8) {
		if order == binary.ByteOrder(binary.BigEndian) {
			v = v<<8 | uint64(b[i])
		} else {
			v |= uint64(b[i]) << (8 * i)
		}
	}
	return v
}

// enumSign tells whether the enum's underlying type is signed, and whether the DWARF says.
func (u *unit) enumSign(e *dwarf.DIE) (signed, known bool, err error) {
	const ateSigned, ateSignedChar = 5, 6
	t, err := u.ref(e, dwarf.Type)
	if err != nil {
		return false, false, err
	}
	c := &u.c.child
	for range maxChain {
		if t.u == nil {
			break
		}
		if err := t.u.r.Read(t.off, c); err != nil {
			return false, false, err
		}
		if c.Tag == std.TagBaseType {
			enc := c.Val[dwarf.Encoding]
			return c.Has(dwarf.Encoding) && (enc == ateSigned || enc == ateSignedChar), true, nil
		}
		if t, err = t.u.ref(c, dwarf.Type); err != nil {
			return false, false, err
		}
	}
	if e.Has(dwarf.Encoding) {
		enc := e.Val[dwarf.Encoding]
		return enc == ateSigned || enc == ateSignedChar, true, nil
	}
	return false, false, nil
}

// maxChain bounds chains of typedefs, qualifiers and origins.
const maxChain = 64

// members fills d with the members of e, in the order of the source.
func (u *unit) members(e *dwarf.DIE, d *desc) error {
	start := len(u.c.elems)
	c := &u.c.child
	for off := e.Next; e.Children; {
		if err := u.r.Read(off, c); err != nil {
			return err
		}
		if c.Null {
			break
		}
		switch {
		case c.Tag == std.TagMember:
			if err := u.member(c, d); err != nil {
				return err
			}
		case isTypeTag(c.Tag) && (u.c.pinned || u.r.Annotated()):
			u.prints.Nest(c.Off) // else Prints has done it
		}
		if !c.Children {
			off = c.Next
			continue
		}
		next, err := u.r.SkipChildren(c)
		if err != nil {
			return err
		}
		off = next
	}
	d.elems = u.c.elems[start:]
	if d.flag {
		for i := range d.elems {
			m := &d.elems[i]
			bits, at := m.val>>32, m.val&(1<<32-1)
			if at >= 1<<24 {
				return u.unencodable(e.Off, "a structure with bitfields and a member at bit %d, beyond %d,", at, 1<<24-1)
			}
			m.val = bits<<24 | at
		}
	}
	return nil
}

// member appends one member; its val is the bit offset, with the bitfield's size above bit 32.
func (u *unit) member(c *dwarf.DIE, d *desc) error {
	var m elem
	var err error
	var bit uint64
	switch {
	case c.Has(dwarf.DataBitOffset):
		bit = c.Val[dwarf.DataBitOffset]
	case c.Has(dwarf.MemberLocation):
		at := c.Val[dwarf.MemberLocation]
		if c.Class[dwarf.MemberLocation] == dwarf.ClassBlock {
			if at, err = u.memberLocation(c); err != nil {
				return err
			}
		}
		bit = at * 8
	case d.kind == types.KindStruct:
		return nil // a static member
	}
	if c.Flag(dwarf.External) || c.Flag(dwarf.Declaration) {
		return nil // a static member
	}
	if m.name, err = u.name(c, dwarf.Name); err != nil {
		return err
	}
	if m.ref, err = u.ref(c, dwarf.Type); err != nil {
		return err
	}
	var bits uint64
	if c.Has(dwarf.BitSize) {
		bits = c.Val[dwarf.BitSize]
		if bits > 128 {
			return u.unencodable(c.Off, "a bitfield of %d bits", bits)
		}
		if c.Has(dwarf.BitOffset) && !c.Has(dwarf.DataBitOffset) {
			delta, err := u.oldBitOffset(c, m.ref, bits)
			if err != nil {
				return err
			}
			bit += delta
		}
		d.flag = d.flag || bits != 0
	}
	if bit > 1<<32-1 {
		return u.unencodable(c.Off, "a member at bit %d", bit)
	}
	m.val = bits<<32 | bit
	u.c.elems = append(u.c.elems, m)
	return nil
}

// oldBitOffset is the distance of a bitfield from its storage unit in the form of DWARF 2 and 3, where DW_AT_bit_offset
// counts from the most significant bit (version 3, 5.6.6).
func (u *unit) oldBitOffset(c *dwarf.DIE, t typeRef, bits uint64) (uint64, error) {
	from := c.Val[dwarf.BitOffset]
	if u.c.d.Order == binary.ByteOrder(binary.BigEndian) {
		return from, nil
	}
	var storage uint64
	if c.Has(dwarf.ByteSize) {
		storage = c.Val[dwarf.ByteSize]
	} else {
		off := c.Off
		size, err := t.size(0)
		if err != nil {
			return 0, err
		}
		if err := u.r.Read(off, c); err != nil {
			return 0, err
		}
		storage = size
	}
	return storage*8 - from - bits, nil
}

// memberLocation evaluates the location expressions that compilers write for members: DW_OP_plus_uconst or a constant.
func (u *unit) memberLocation(c *dwarf.DIE) (uint64, error) {
	const opPlusUconst, opConstu = 0x23, 0x10
	b := u.r.Block(c.Val[dwarf.MemberLocation])
	if len(b) >= 2 && (b[0] == opPlusUconst || b[0] == opConstu) {
		if v, n := binary.Uvarint(b[1:]); n == len(b)-1 {
			return v, nil
		}
	}
	return 0, u.unencodable(c.Off, "a member's location that is computed")
}

func (u *unit) describeArray(e *dwarf.DIE) (d desc, err error) {
	d.kind = types.KindArray
	if d.ref, err = u.ref(e, dwarf.Type); err != nil {
		return d, err
	}
	c := &u.c.child
	for off := e.Next; e.Children; {
		if err := u.r.Read(off, c); err != nil {
			return d, err
		}
		if c.Null {
			break
		}
		if c.Tag == std.TagSubrangeType || c.Tag == std.TagEnumerationType {
			d.dims = append(d.dims, arrayCount(c))
		}
		if off, err = u.r.SkipChildren(c); err != nil {
			return d, err
		}
	}
	if len(d.dims) == 0 {
		d.dims = append(d.dims, 0)
	}
	if len(d.dims) > maxChain {
		return d, u.unencodable(e.Off, "an array of %d dimensions", len(d.dims))
	}
	return d, nil
}

// arrayCount is the number of elements of one dimension; 0 for flexible and variable-length arrays, and for counts that
// don't fit BTF's 32 bits.
func arrayCount(c *dwarf.DIE) uint32 {
	var n uint64
	switch {
	case c.Has(dwarf.Count) && c.Class[dwarf.Count] == dwarf.ClassConst:
		n = c.Val[dwarf.Count]
	case c.Has(dwarf.UpperBound) && c.Class[dwarf.UpperBound] == dwarf.ClassConst:
		n = c.Val[dwarf.UpperBound] + 1
	}
	if n > 1<<32-1 {
		return 0
	}
	return uint32(n)
}

// describeProto describes the prototype of a subroutine type or of a function.
func (u *unit) describeProto(e *dwarf.DIE) (d desc, err error) {
	d.kind = types.KindFuncProto
	if d.ref, err = u.ref(e, dwarf.Type); err != nil {
		return d, err
	}
	start := len(u.c.elems)
	c := &u.c.child
	for off := e.Next; e.Children; {
		if err := u.r.Read(off, c); err != nil {
			return d, err
		}
		if c.Null {
			break
		}
		switch c.Tag {
		case std.TagFormalParameter:
			p := elem{}
			if p.name, err = u.name(c, dwarf.Name); err != nil {
				return d, err
			}
			if p.ref, err = u.ref(c, dwarf.Type); err != nil {
				return d, err
			}
			u.c.elems = append(u.c.elems, p)
		case std.TagUnspecifiedParameters:
			u.c.elems = append(u.c.elems, elem{})
		}
		if off, err = u.r.SkipChildren(c); err != nil {
			return d, err
		}
	}
	d.elems = u.c.elems[start:]
	return d, nil
}

func isTypeTag(t std.Tag) bool {
	switch t {
	case std.TagStructType, std.TagClassType, std.TagUnionType, std.TagEnumerationType, std.TagTypedef:
		return true
	}
	return false
}
