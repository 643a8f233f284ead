package diff

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/btf"
)

// sameMembers tells whether two nodes are structs or unions with members of the same names, so that
// only offsets, sizes and types differ.
func (x *explainer) sameMembers(a, b uint32) bool {
	if !x.kind(a).IsComposite() || x.kind(a) != x.kind(b) {
		return false
	}
	p, q := x.nodes[a].blob, x.nodes[b].blob
	return slices.Equal(memberNames(p, p.MembersOf(x.nodes[a].typ)),
		memberNames(q, q.MembersOf(x.nodes[b].typ)))
}

// layoutDifference explains offsets and sizes that differ by the types of members. ok is false if
// these don't explain it.
func (x *explainer) layoutDifference(a, b uint32, where string, types [2]uint32) (explanation,
	bool) {
	e, ok := x.references(a, b, where, types)
	if !ok {
		return e, false
	}
	s, t := x.nodes[a].typ, x.nodes[b].typ
	if e.class != Indirect {
		if size := unequal("size", s.SizeOrType, t.SizeOrType); size != "" && where == "" {
			e.what += " (" + size + ")"
		}
		return e, true
	}
	// Offsets grow with the sizes of the members before them.
	ma, mb := x.nodes[a].blob.MembersOf(s), x.nodes[b].blob.MembersOf(t)
	for i, k := range x.children(a) {
		o := x.children(b)[i]
		if x.sizeOf(k, maxSpell) != x.sizeOf(o, maxSpell) {
			name, _ := x.nodes[a].blob.Name(ma[i].NameOff)
			again := explainer{x.comparison, x.sides, true, map[[2]uint32]bool{}, x.budget}
			return again.reference(k, o, place(where, elementName("member", name)), [2]uint32{k, o}, false)
		}
		if ma[i].Offset != mb[i].Offset {
			break
		}
	}
	return e, false
}

// sizeOf is the size of a type in bytes; all pointers have one.
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
