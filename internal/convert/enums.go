package convert

import (
	std "debug/dwarf"
	"encoding/binary"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// enumerators fills d with the enumerators of e. An enum wider than 4 bytes is an ENUM64. Without
// the feature enum64, it is an ENUM of the same size, with only the low 32 bits of each value, and
// enums are never signed: older kernels know neither ENUM64 nor signed enums.
//
// DWARF 2 doesn't say whether an enum is signed. There, pahole's rules apply: an enum of up to 4
// bytes is signed if it has a negative value in a signed form; a wider enum is unsigned.
// Rule: ENUM64, and large enums without the feature enum64. Source: pahole btf_encoder__add_enum,
// btf_encoder__add_enum_val.
func (u *unit) enumerators(e *dwarf.DIE, d *desc) error {
	signed, known, err := u.enumSign(e)
	if err != nil {
		return err
	}
	modern := u.c.in.has(features.Enum64)
	wide := d.size > 4 && modern
	start := len(u.c.scratch.elems)
	negative := false
	var c dwarf.DIE
	for err := range u.r.Children(e, &c, std.TagEnumerator) {
		if err != nil {
			return err
		}
		n, err := u.identifier(&c, dwarf.Name)
		if err != nil {
			return err
		}
		if n.class == dwarf.ClassNone { // the kernel refuses such an enum (btf_enum_check_meta)
			return u.unencodable(c.Off, "an enumerator without a name")
		}
		v := c.Value(dwarf.ConstValue).Val
		if c.IsBlock(dwarf.ConstValue) {
			v = blockConst(u.r.Block(v), u.c.in.d.Order)
		}
		if !known && int64(v) < 0 && !negative {
			if negative, err = u.r.Signed(&c, dwarf.ConstValue); err != nil {
				return err
			}
		}
		if !wide {
			v &= 1<<32 - 1
		}
		u.c.scratch.elems = append(u.c.scratch.elems, elem{name: n, val: v})
	}
	d.elems = u.c.scratch.elems[start:]
	if wide {
		d.kind = types.KindEnum64
	}
	d.flag = modern && (signed || !known && negative && d.size <= 4)
	return nil
}

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

// enumSign reports whether the enum's underlying type is signed, and whether that is known.
// Rule: signed enums. Source: pahole btf_encoder__add_enum_type.
func (u *unit) enumSign(e *dwarf.DIE) (signed, known bool, err error) {
	t, err := u.ref(e, dwarf.Type)
	if err != nil {
		return false, false, err
	}
	var base dwarf.DIE
	if t, err = t.peel(&base); err != nil {
		return false, false, err
	}
	enc, known := base.Value(dwarf.Encoding).Val, true
	if t.u == nil || base.Tag != std.TagBaseType {
		enc, known = e.Value(dwarf.Encoding).Val, e.Has(dwarf.Encoding)
	}
	return enc == ateSigned || enc == ateSignedChar, known, nil
}
