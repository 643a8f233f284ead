package convert

import (
	"cmp"
	std "debug/dwarf"
	"encoding/binary"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// members fills d with the members of e, in the order of the source. If the compiler has reordered
// them, as rustc does, d has them in the order of their offsets, which the kernel requires
// (btf_struct_check_meta). If any member is a bitfield (d.flag, BTF's kind_flag), every val has the
// bit size in bits 24 to 31 (0: not a bitfield), and the bit offset in bits 0 to 23.
// Rule: members of structs and unions, kind_flag. Source: pahole btf_encoder__add_struct_type.
func (u *unit) members(e *dwarf.DIE, d *desc) error {
	start := len(u.c.scratch.elems)
	var c dwarf.DIE
	for err := range u.r.Children(e, &c, std.TagMember) {
		if err == nil {
			err = u.member(&c, d)
		}
		if err != nil {
			return err
		}
	}
	d.elems = u.c.scratch.elems[start:]
	byPlace := func(a, b elem) int { return cmp.Compare(a.val&(1<<32-1), b.val&(1<<32-1)) }
	if !slices.IsSortedFunc(d.elems, byPlace) {
		slices.SortStableFunc(d.elems, byPlace)
	}
	if d.flag {
		for i := range d.elems {
			m := &d.elems[i]
			bits, at := m.val>>32, m.val&(1<<32-1)
			if at >= 1<<24 {
				return u.unencodable(e.Off, "a struct with bitfields and a member at bit %d (limit: %d)",
					at, 1<<24-1)
			}
			m.val = bits<<24 | at
		}
	}
	return nil
}

// member appends one member. The low half of val is the bit offset, the high half the bit size.
// Rule: bit-fields (bitfields), offsets of members. Source: pahole dwarf_loader.c
// class_member__new, class_member__dwarf_recode_bitfield.
func (u *unit) member(c *dwarf.DIE, d *desc) error {
	m := elem{die: c.Off, noted: c.Children || c.Has(dwarf.Annotation)} // read now: c is reused
	var err error
	var bit uint64
	switch {
	case c.Constant(dwarf.DataBitOffset):
		bit = c.Val[dwarf.DataBitOffset]
	case c.Has(dwarf.MemberLocation):
		at, ok := u.memberLocation(c)
		if !ok && d.size == 0 {
			return nil // the member follows a variable-length array
		}
		if !ok {
			return u.unencodable(c.Off, "a member at a computed offset")
		}
		bit = min(at, 1<<32) * 8 // negative offsets count as too large
	case d.kind == types.KindStruct:
		return nil // a static member
	}
	if c.Flag(dwarf.External) || c.Flag(dwarf.Declaration) {
		return nil // a static member
	}
	if m.name, m.ref, err = u.nameAndType(c); err != nil {
		return err
	}
	var bits uint64
	if c.Constant(dwarf.BitSize) {
		bits = c.Val[dwarf.BitSize]
		if bits > 128 {
			return u.unencodable(c.Off, "a bitfield of %d bits", bits)
		}
		if c.Constant(dwarf.BitOffset) && !c.Has(dwarf.DataBitOffset) {
			delta, err := u.oldBitOffset(c, m.ref, bits)
			if err != nil {
				return err
			}
			bit += delta
		}
		d.flag = d.flag || bits != 0
	}
	if bit > 1<<32-1 {
		return u.unencodable(m.die, "a member at bit %d", bit)
	}
	if bit != 0 && d.kind == types.KindUnion {
		return u.unencodable(m.die, "a member of a union at bit %d", bit)
	}
	m.val = bits<<32 | bit
	u.c.scratch.elems = append(u.c.scratch.elems, m)
	return nil
}

// oldBitOffset computes the bit offset of a bitfield within its storage unit from the attributes of
// DWARF 2 and 3, in which DW_AT_bit_offset counts from the most significant bit (DWARF 3, 5.6.6).
// The field may begin before its storage unit. The result is then below 0, so it wraps around;
// adding it to an offset wraps around again. DW_AT_data_bit_offset (DWARF 4 and 5) needs no such
// computation in either byte order.
func (u *unit) oldBitOffset(c *dwarf.DIE, t typeRef, bits uint64) (uint64, error) {
	from := c.Val[dwarf.BitOffset]
	if u.c.in.d.Order == binary.ByteOrder(binary.BigEndian) {
		return from, nil
	}
	if c.Constant(dwarf.ByteSize) {
		return c.Val[dwarf.ByteSize]*8 - from - bits, nil
	}
	storage, err := t.size(0)
	return storage*8 - from - bits, err
}

// memberLocation returns the member's offset in bytes, if the location is a number or one of the
// expressions that compilers write for members (DW_OP_plus_uconst or DW_OP_constu). It returns
// false for other expressions, whose value depends on the object.
func (u *unit) memberLocation(c *dwarf.DIE) (uint64, bool) {
	at := c.Value(dwarf.MemberLocation)
	if at.Class != dwarf.ClassBlock {
		return at.Val, at.Class == dwarf.ClassConst
	}
	var op dwarf.Operation
	o := u.r.Operands()
	rest, ok := o.Next(u.r.Block(at.Val), &op)
	ok = ok && (op.Code == dwarf.OpPlusUconst || op.Code == dwarf.OpConstu) && len(rest) == 0
	return op.Numbers[0], ok
}
