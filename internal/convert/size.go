package convert

import (
	std "debug/dwarf"
	"math"
	"math/bits"

	"github.com/rules-btf/rules_btf/internal/dwarf"
)

// noteByName notes that a value is taken from e, which a reference leads to.
func (c *converter) noteByName(e *dwarf.DIE) {
	switch e.Tag {
	case std.TagStructType, std.TagClassType, std.TagUnionType, std.TagEnumerationType:
		c.byName = c.byName || e.Has(dwarf.Name)
	}
}

// size returns the size in bytes of the type that t names, 0 when it has none.
func (t typeRef) size(depth int) (uint64, error) {
	if t.u == nil || depth > maxChain {
		return 0, nil
	}
	u := t.u
	var e dwarf.DIE
	if err := u.r.Read(t.off, &e); err != nil {
		return 0, err
	}
	u.c.noteByName(&e)
	if e.Constant(dwarf.ByteSize) {
		return e.Val[dwarf.ByteSize], nil
	}
	switch e.Tag {
	case std.TagPointerType:
		u.c.byName = true // no fingerprint tells the unit's address size
		return uint64(u.r.Unit.AddrSize), nil
	case std.TagArrayType:
		d, err := u.describeArray(&e)
		if err != nil {
			return 0, err
		}
		n, err := d.ref.size(depth + 1)
		for _, dim := range d.dims {
			high, low := bits.Mul64(n, uint64(dim))
			if n = low; high != 0 {
				n = math.MaxUint64 // no object is as large
			}
		}
		return n, err
	}
	if e.Has(dwarf.Signature) && e.Class[dwarf.Signature] == dwarf.ClassSig {
		r, err := u.ref(&e, dwarf.Signature)
		if err != nil {
			return 0, err
		}
		return r.size(depth + 1)
	}
	r, err := u.ref(&e, dwarf.Type)
	if err != nil {
		return 0, err
	}
	return r.size(depth + 1)
}
