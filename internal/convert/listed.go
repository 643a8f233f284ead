package convert

import (
	"encoding/binary"

	"github.com/rules-btf/rules_btf/internal/dwarf"
)

// A compilation unit may list what it takes of a partial unit: a DW_TAG_imported_unit with a block
// as its DW_AT_const_value. The block has the distances from one definition to the next as
// LEB128 with the sign in the lowest bit (encoding/binary's Varint), the first one from the partial
// unit's header. What else is in that unit is not the importing unit's, even where this refers to
// it, and the unit refers to no other. This is how package split writes units, no compiler.

// listed are definitions of a unit that was imported in this way, as items, by their offsets.
type listed []listedItem

type listedItem struct {
	off uint32 // 0: free
	item
}

// listedShift makes one slot of so few bytes that nearly every definition has its own.
const listedShift = 3

// takeListed takes the definitions of u that the loaded unit lists.
func (u *unit) takeListed(die uint32, list []byte) error {
	c := u.c
	c.lists = true
	if u.listed == nil {
		u.listed = make(listed, u.r.Unit.Len>>listedShift+1)
	}
	off := int64(0)
	for len(list) > 0 {
		d, n := binary.Varint(list)
		off += d
		if n <= 0 || off < int64(u.r.Unit.HeaderLen) || off >= int64(u.r.Unit.Len) {
			return c.main.r.Errorf(die, "the list of what is imported leads to %#x, out of the unit", off)
		}
		list = list[n:]
		if s := &u.listed[off>>listedShift]; int64(s.off) == off {
			c.addItem(s.item)
		} else if err := u.takeDefinition(uint32(off), s); err != nil {
			return err
		}
	}
	return nil
}

// takeDefinition takes the definition at off, and remembers it in a slot.
func (u *unit) takeDefinition(off uint32, s *listedItem) error {
	e, err := u.r.Peek(off)
	if err != nil {
		return err
	}
	if e.Abbrev == nil || !dwarf.IsDefinition(e.Abbrev.Tag) {
		return u.r.Errorf(off, "the entry is imported, and no definition of a type")
	}
	u.found = item{}
	if err := u.visitNew(off); err != nil {
		return err
	}
	*s = listedItem{off, u.found}
	return nil
}
