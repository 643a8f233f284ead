package diff

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// sameMembers reports whether two nodes are structs or unions with the same list of member names.
func (x *explainer) sameMembers(a, b uint32) bool {
	return x.kind(a).IsComposite() && x.kind(a) == x.kind(b) &&
		slices.Equal(x.elements(a, all), x.elements(b, all))
}

// layoutDifference explains, by the types of the members, why offsets or sizes differ between two
// structs or unions with the same members. ok is false if these types don't explain it.
func (x *explainer) layoutDifference(
	a, b uint32, where string, types [2]uint32,
) (e explanation, ok bool) {
	e, ok = x.references(a, b, where, types)
	if !ok {
		return e, false
	}
	s, t := x.nodes[a].typ, x.nodes[b].typ
	if e.class != Indirect {
		if where == "" {
			e.what = withSize(e.what, s, t)
		}
		return e, true
	}
	// An offset may differ because an earlier member has a different size.
	ma, mb := x.nodes[a].blob.MembersOf(s), x.nodes[b].blob.MembersOf(t)
	for i, k := range x.children(a) {
		o := x.children(b)[i]
		if x.sizeOf(k, maxSpell) != x.sizeOf(o, maxSpell) {
			name, _ := x.nodes[a].blob.Name(ma[i].NameOff)
			again := explainer{x.comparison, x.sides, true, map[[2]uint32]bool{}, x.budget}
			return again.reference(k, o, joinPath(where, elementName("member", name)),
				[2]uint32{k, o}, false)
		}
		if ma[i].Offset != mb[i].Offset {
			break
		}
	}
	return e, false
}

// sizeOf returns the size of a type in bytes, but 0 for pointers, which all have the same size.
func (x *explainer) sizeOf(n uint32, depth int) uint64 {
	t := x.nodes[n].typ
	switch {
	case t == nil || depth == 0:
		return 0
	case t.Kind.HasSize():
		return uint64(t.SizeOrType)
	case t.Kind.IsModifier():
		return x.sizeOf(x.children(n)[0], depth-1)
	case t.Kind == btf.KindArray:
		return uint64(x.nodes[n].blob.ArrayOf(t).Nelems) * x.sizeOf(x.children(n)[0], depth-1)
	}
	return 0
}
