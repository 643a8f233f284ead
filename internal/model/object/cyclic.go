package object

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/refine"
)

// findCyclic finds the typedefs that are in a cycle without a tag: r.cyclic. It takes all that are,
// whichever of them the cycle is entered by, so the numbers of types don't matter.
//
// No C compiler makes these, but the kernel takes them: libbpf's tests have a function that returns
// a pointer to its own typedef. It refuses cycles of only pointers, typedefs and qualifiers
// (btf_resolve).
func (r *records) findCyclic() {
	cyclic := map[uint32]bool{}
	refs := func(node int32, buf []int32) []int32 {
		t, l := r.at(uint32(node) + 1)
		for ref := range l.Refs(t) {
			if child := *ref; child != 0 && child < r.end && !r.crosses(t, child) {
				buf = append(buf, int32(child-1))
			}
		}
		return buf
	}
	refine.Components(int(r.end-1), refs, func(component []int32) {
		var typedefs []uint32
		valid := false
		for _, node := range component {
			id := uint32(node) + 1
			t, _ := r.at(id)
			valid = valid || !t.Kind.IsModifier() && t.Kind != btf.KindPtr
			if t.Kind == btf.KindTypedef && r.named(t) {
				typedefs = append(typedefs, id)
			}
		}
		for _, id := range typedefs {
			cyclic[id] = valid // false for one that is in no cycle
		}
	})
	r.cyclic = cyclic
}
