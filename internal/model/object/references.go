package object

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/refine"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// childrenFirst returns the ids in an order in which each type comes after the types that its shape
// contains. It checks that each reference leads to an existing type of a kind that is allowed
// there, and that every cycle goes through a tag or a typedef. It sets r.cyclic.
func (r *records) childrenFirst() ([]uint32, error) {
	order, cyclic, err := r.depthFirst()
	if cyclic {
		r.findCyclic()
		order, _, err = r.depthFirst()
	}
	return order, err
}

// depthFirst does the work of childrenFirst for the current r.cyclic. The result cyclic reports
// whether the error is about a cycle.
func (r *records) depthFirst() (ids []uint32, cyclic bool, err error) {
	const open, done = 1, 2
	state := make([]uint8, r.end)
	depth := make([]uint16, r.end)
	order := make([]uint32, 0, r.end-1)
	var stack []uint32
	for root := uint32(1); root < r.end; root++ {
		if t, _ := r.at(root); state[root] != 0 || t.Kind.IsLocation() {
			continue
		}
		stack = append(stack[:0], root)
		for len(stack) > 0 {
			id := stack[len(stack)-1]
			if state[id] == done {
				stack = stack[:len(stack)-1]
				continue
			}
			t, l := r.at(id)
			entered := state[id] == open
			state[id] = open
			deep := uint16(0)
			l.refs(t, func(child uint32) {
				switch {
				case err != nil:
				case entered && child != 0:
					if !r.crosses(t, child) {
						deep = max(deep, depth[child])
					}
				case !entered:
					err = r.checkRef(id, t, child)
					if err != nil || child == 0 {
						return
					}
					if r.crosses(t, child) {
						return
					}
					if state[child] == open {
						cyclic = true
						err = damagedType(id, t, "contains itself through [%d], "+
							"without a named struct, union or typedef in between", child)
					} else if state[child] == 0 {
						stack = append(stack, child)
					}
				}
			})
			if err != nil {
				return nil, cyclic, err
			}
			if entered {
				if depth[id] = deep + 1; deep >= types.MaxDepth && mayNest(t.Kind) {
					return nil, false, typeError(id, t, "nests more than %d types deep", types.MaxDepth)
				}
				state[id] = done
				order = append(order, id)
			}
		}
	}
	return order, false, nil
}

// mayNest reports whether other types may contain types of kind k. A type of any other kind nests
// just one level deeper than the type to which it refers.
func mayNest(k btf.Kind) bool {
	switch k {
	case btf.KindFunc, btf.KindVar, btf.KindDatasec, btf.KindDeclTag:
		return false
	}
	return true
}

// crosses reports whether a reference from one type to another is a stub, and so leaves the shape.
// A declaration tag refers to one specific definition, not to a stub, unless its target is only
// declared.
func (r *records) crosses(from *btf.Type, to uint32) bool {
	t, _ := r.at(to)
	return (r.isTagged(t) || r.cyclic[to]) && (from.Kind != btf.KindDeclTag || r.declared(t) != 0)
}

// checkRef checks that the type with this id and record t may refer to child.
func (r *records) checkRef(id uint32, t *btf.Type, child uint32) error {
	if child >= r.end {
		return damagedType(id, t, "refers to type [%d], but the last type is [%d]", child, r.end-1)
	}
	kind := btf.KindVoid
	if child != 0 {
		c, _ := r.at(child)
		kind = c.Kind
	}
	if !kindsFor(t.Kind).has(kind) {
		return damagedType(id, t, "must not refer to [%d] (%v)", child, kind)
	}
	return nil
}

type kindSet uint32

func (s kindSet) has(k btf.Kind) bool { return s>>k&1 != 0 }

// locations are the kinds to which no type refers.
const locations = kindSet(1<<btf.KindLocParam | 1<<btf.KindLocProto | 1<<btf.KindLocsec)

// kindsFor returns the kinds, void included, to which a type of the given kind may refer.
func kindsFor(from btf.Kind) kindSet {
	switch from {
	case btf.KindFunc:
		return 1 << btf.KindFuncProto
	case btf.KindDatasec:
		return 1<<btf.KindVar | 1<<btf.KindFunc // compilers also list extern functions, such as kfuncs
	case btf.KindDeclTag:
		return ^(1<<btf.KindDatasec | 1<<btf.KindDeclTag | 1<<btf.KindVoid | locations)
	}
	return ^(1<<btf.KindFunc | 1<<btf.KindVar | 1<<btf.KindDatasec | 1<<btf.KindDeclTag | locations)
}

// findCyclic finds the typedefs in cycles without a tag, and sets r.cyclic. It takes all typedefs
// of a cycle, so that the ids of types don't matter.
//
// No C compiler makes such cycles, but the kernel accepts them: libbpf's tests have a function type
// that returns a pointer to its own typedef. The kernel refuses cycles that consist only of
// pointers, typedefs and qualifiers (btf_resolve).
// Rule: typedefs in cycles without a tag. Source: kernel btf_resolve, which refuses some; libbpf
// btf_dedup_ref_type.
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
			cyclic[id] = valid // false for a typedef that is in no cycle
		}
	})
	r.cyclic = cyclic
}
