package relocate

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// findEmbedded finds the distilled structs and unions that are members of a struct or union in the
// split BTF, directly or through modifiers and arrays (btf_mark_embedded_composite_type_ids). The
// sizes of these distilled types must stay the same.
// Rule: distilled base: embedded structs. Source: btf_relocate.c
// btf_mark_embedded_composite_type_ids.
func (r *relocation) findEmbedded() error {
	first := r.distilled.EndID()
	r.embeddedIn = make([]uint32, first)
	ends := make([]uint32, r.split.EndID()-first) // the results of endOf, by id from first on
	for i := range ends {
		ends[i] = unknown
	}
	for i := range ends {
		id := first + uint32(i)
		t, in := r.split.ByID(id)
		if !t.Kind.IsComposite() {
			continue
		}
		for _, m := range in.MembersOf(t) {
			end, err := r.endOf(m.Type, ends)
			if err != nil {
				return err
			}
			if end == 0 || end >= first || r.embeddedIn[end] != 0 {
				continue
			}
			if d, _ := r.split.ByID(end); d.Kind.IsComposite() {
				r.embeddedIn[end] = id
			}
		}
	}
	return nil
}

const (
	unknown = ^uint32(0)
	onPath  = unknown - 1
)

// endOf strips modifiers and array dimensions from a type. For each type that it passes, it stores
// the result in ends. So a type that many members share is followed only once.
func (r *relocation) endOf(id uint32, ends []uint32) (uint32, error) {
	first, end := r.distilled.EndID(), id
	var path []uint32
	for end >= first {
		i := end - first
		if known := ends[i]; known == onPath {
			return 0, fmt.Errorf("BTF type [%d] leads to itself through modifiers and arrays", end)
		} else if known != unknown {
			end = known
			break
		}
		t, in := r.split.ByID(end)
		next := t.SizeOrType
		if t.Kind == btf.KindArray {
			next = in.ArrayOf(t).Elem
		} else if !t.Kind.IsModifier() {
			ends[i] = end
			break
		}
		ends[i] = onPath
		path = append(path, i)
		end = next
	}
	for _, i := range path {
		ends[i] = end
	}
	return end, nil
}
