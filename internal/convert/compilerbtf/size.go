package compilerbtf

import (
	"math"
	"math/bits"

	"github.com/rules-btf/rules_btf/internal/convert/params"
	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// maxDepth bounds chains of references. Shaper.Load bounds all except cycles through typedefs.
const maxDepth = 1000

// peel returns the type after all modifiers, or nil for void. size is 0 if that type has no size.
func (c *converter) peel(id uint32) (t *btf.Type, size uint32) {
	for range maxDepth {
		t, _ := c.blob.ByID(id)
		switch {
		case t == nil:
			return nil, 0
		case t.Kind.IsModifier():
			id = t.SizeOrType
			continue
		case !t.Kind.HasSize():
			return t, 0
		}
		if size, ok := c.fakes[int(id-1)]; ok {
			return t, size
		}
		return t, t.SizeOrType
	}
	return nil, 0
}

// size returns the size of a type in bytes, or 0 if the type has no size.
func (c *converter) size(id uint32) uint64 {
	n := uint64(1)
	for range maxDepth {
		t, size := c.peel(id)
		switch {
		case t == nil:
			return 0
		case t.Kind == btf.KindPtr:
			return times(n, uint64(c.file.AddrSize))
		case t.Kind == btf.KindArray:
			a := c.blob.ArrayOf(t)
			n, id = times(n, uint64(a.Nelems)), a.Elem
		case t.Kind.HasSize():
			return times(n, uint64(size))
		default:
			return 0 // a function, a declaration
		}
	}
	return 0
}

// times returns a·b, or the largest uint64 if the product overflows.
func times(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	if high != 0 {
		return math.MaxUint64
	}
	return low
}

// uncertain reports whether a parameter of f may be a packed struct on the stack. All other flags
// of package params depend on locations, which BTF lacks.
func (c *converter) uncertain(f *btf.Type) bool {
	proto, _ := c.blob.ByID(f.SizeOrType)
	list := c.blob.ParamsOf(proto)
	if n := len(list); n > 0 && list[n-1] == (btf.Param{}) {
		list = list[:n-1]
	}
	judged, some := make([]params.Param, len(list)), false
	for i, p := range list {
		judged[i] = params.Param{OriginIndex: params.NoOrigin, PackedStruct: c.packed(p.Type)}
		some = some || judged[i].PackedStruct
	}
	m := params.Machine{ID: c.file.Machine}
	m.AddrSize = c.file.AddrSize
	return some && params.Judge(m, params.Options{}, judged).Flags.Has(params.UncertainLocation)
}

// packed reports whether a type is a named struct with a misaligned member: one whose offset is not
// a multiple of the natural alignment of the member's type.
func (c *converter) packed(id uint32) bool {
	t, _ := c.peel(id)
	if t == nil || t.Kind != btf.KindStruct || c.blob.TypeName(t) == "" {
		return false
	}
	for _, m := range c.blob.MembersOf(t) {
		if at, bitfield := m.Bits(t.KFlag); bitfield == 0 && uint64(at/8)%c.alignment(m.Type) != 0 {
			return true
		}
	}
	return false
}

// alignment returns the natural alignment of a scalar or an array of scalars, or 1 for other types.
func (c *converter) alignment(id uint32) uint64 {
	for range maxDepth {
		t, size := c.peel(id)
		if t == nil {
			return 1
		}
		switch t.Kind {
		case btf.KindArray:
			id = c.blob.ArrayOf(t).Elem
		case btf.KindPtr:
			return uint64(c.file.AddrSize)
		case btf.KindInt, btf.KindFloat, btf.KindEnum, btf.KindEnum64:
			if size != 0 && size&(size-1) == 0 {
				return uint64(size)
			}
			return 1
		default:
			return 1
		}
	}
	return 1
}
