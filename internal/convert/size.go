package convert

import (
	std "debug/dwarf"
	"math"
	"math/bits"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// noteUncovered notes that a value was read from e, an entry that was reached through a reference.
func (c *converter) noteUncovered(e *dwarf.DIE) {
	if dwarf.IsTagged(e.Tag) && e.Has(dwarf.Name) {
		c.uncovered++
	}
}

// size returns the size in bytes of the type to which t refers, or 0 if that type has no size.
func (t typeRef) size(depth int) (uint64, error) {
	var e dwarf.DIE
	t, err := t.peel(&e)
	if err != nil || t.u == nil {
		return 0, err
	}
	return t.sizeOf(&e, depth)
}

// sizeOf is like size, for a peeled t with the entry e. depth counts the types around e.
func (t typeRef) sizeOf(e *dwarf.DIE, depth int) (uint64, error) {
	u := t.u
	u.c.noteUncovered(e)
	if e.Constant(dwarf.ByteSize) {
		return e.Val[dwarf.ByteSize], nil
	}
	switch {
	case depth > types.MaxDepth:
		return 0, nil
	case e.Tag == std.TagUnspecifiedType:
		if null, err := u.isNullPointer(e); err != nil || !null {
			return 0, err
		}
		fallthrough
	case e.Tag == std.TagPointerType, e.Tag == std.TagReferenceType,
		e.Tag == std.TagRvalueReferenceType:
		u.c.uncovered++ // fingerprints don't cover the unit's address size
		return uint64(u.r.Unit.AddrSize), nil
	case e.Tag == std.TagArrayType:
		d, err := u.describeArray(e)
		if err != nil {
			return 0, err
		}
		n, err := d.ref.size(depth + 1)
		for _, dim := range d.dims {
			high, low := bits.Mul64(n, uint64(dim))
			if n = low; high != 0 {
				n = math.MaxUint64 // larger than any object
			}
		}
		return n, err
	}
	r, err := u.ref(e, dwarf.Type) // an enum without a size has the size of this type
	if err != nil {
		return 0, err
	}
	return r.size(depth + 1)
}
