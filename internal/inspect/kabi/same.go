package kabi

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// maxNested limits how deep types are compared.
const maxNested = 32

// alike says why code that was compiled for type a of A works with type b of B, or returns "".
// Structs, unions and enums with the same name are alike, because they are compared separately.
//
// As in libabigail, qualifiers, typedefs and names of base types don't matter, nor does a pointer
// to void that now points to something else, nor an enum that is now an integer of the same size.
// Rule: kABI: types that differ only in names. Source: libabigail harmless_filter.
func (j *judge) alike(a, b uint32) string {
	c := comparer{a: j.a.Blob, b: j.b.Blob, why: "only qualifiers or names differ", left: 1 << 12}
	if !c.alike(a, b, maxNested) {
		return ""
	}
	return c.why
}

type comparer struct {
	a, b *btf.Blob
	why  string
	left int // how many pairs of types may still be compared
}

// unqualified follows typedefs, qualifiers and type tags.
func unqualified(b *btf.Blob, id uint32) (uint32, *btf.Type) {
	t, _ := b.ByID(id)
	for range btf.MaxModifiers {
		if t == nil || !t.Kind.IsModifier() {
			break
		}
		id = t.SizeOrType
		t, _ = b.ByID(id)
	}
	return id, t
}

func (c *comparer) alike(a, b uint32, depth int) bool {
	c.left--
	if depth == 0 || c.left < 0 {
		return false
	}
	_, t := unqualified(c.a, a)
	_, u := unqualified(c.b, b)
	switch {
	case t == nil || u == nil:
		return t == nil && u == nil
	case t.Kind.IsEnum() && u.Kind == btf.KindInt || t.Kind == btf.KindInt && u.Kind.IsEnum():
		if t.SizeOrType == u.SizeOrType {
			c.why = "an enum and an integer of the same size"
			return true
		}
		return false
	case isAggregate(t) && isAggregate(u):
		return c.aggregates(t, u, depth)
	case t.Kind != u.Kind:
		return false
	}
	switch t.Kind {
	case btf.KindPtr:
		_, x := unqualified(c.a, t.SizeOrType)
		_, y := unqualified(c.b, u.SizeOrType)
		if x == nil && y != nil && y.Kind != btf.KindFuncProto {
			c.why = "it was a pointer to void"
			return true
		}
		return c.alike(t.SizeOrType, u.SizeOrType, depth-1)
	case btf.KindArray:
		x, y := c.a.ArrayOf(t), c.b.ArrayOf(u)
		return x.Nelems == y.Nelems && c.alike(x.Elem, y.Elem, depth-1)
	case btf.KindInt:
		const char = btf.IntChar << 24
		return t.SizeOrType == u.SizeOrType && t.Extra&^char == u.Extra&^char
	case btf.KindFloat:
		return t.SizeOrType == u.SizeOrType
	case btf.KindEnum, btf.KindEnum64:
		return t.SizeOrType == u.SizeOrType && c.sameName(t, u) &&
			(t.NameOff != 0 || slices.EqualFunc(c.a.EnumsOf(t), c.b.EnumsOf(u),
				func(x, y btf.Enumerator) bool { return x.Value == y.Value }))
	case btf.KindFuncProto:
		return t.Vlen == u.Vlen && c.alike(t.SizeOrType, u.SizeOrType, depth-1) &&
			slices.EqualFunc(c.a.ParamsOf(t), c.b.ParamsOf(u), func(x, y btf.Param) bool {
				return c.alike(x.Type, y.Type, depth-1)
			})
	}
	return false
}

// isAggregate reports whether a type is a struct or union, or declares one.
func isAggregate(t *btf.Type) bool { return t.Kind.IsComposite() || t.Kind == btf.KindFwd }

func (c *comparer) sameName(t, u *btf.Type) bool { return c.a.TypeName(t) == c.b.TypeName(u) }

func (c *comparer) aggregates(t, u *btf.Type, depth int) bool {
	union := func(t *btf.Type) bool {
		return t.Kind == btf.KindUnion || t.Kind == btf.KindFwd && t.KFlag
	}
	if !c.sameName(t, u) || union(t) != union(u) {
		return false
	}
	if t.NameOff != 0 || t.Kind == btf.KindFwd || u.Kind == btf.KindFwd {
		return t.Kind == btf.KindFwd || u.Kind != btf.KindFwd // what A defines, B must define
	}
	return t.SizeOrType == u.SizeOrType && slices.EqualFunc(c.a.MembersOf(t), c.b.MembersOf(u),
		func(x, y btf.Member) bool {
			offX, bitsX := x.Bits(t.KFlag)
			offY, bitsY := y.Bits(u.KFlag)
			return offX == offY && bitsX == bitsY && c.alike(x.Type, y.Type, depth-1)
		})
}
