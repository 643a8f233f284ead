package relocate

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// findEmbedded finds the distilled structs and unions that are members of a struct or union in the
// split BTF, directly or through modifiers and arrays (btf_mark_embedded_composite_type_ids). The
// sizes of these distilled types must stay the same.
func (r *relocation) findEmbedded() error {
	s := r.split
	r.embeddedIn = make([]uint32, r.distilled.EndID())
	ends := make([]uint32, len(s.Types)) // the results of endOf for the split BTF's own types
	for i := range ends {
		ends[i] = unknown
	}
	for i := range s.Types {
		t := &s.Types[i]
		if !t.Kind.IsComposite() {
			continue
		}
		for _, m := range s.MembersOf(t) {
			end, err := r.endOf(m.Type, ends)
			if err != nil {
				return err
			}
			if end == 0 || end >= s.StartID || r.embeddedIn[end] != 0 {
				continue
			}
			if d, _ := s.ByID(end); d.Kind.IsComposite() {
				r.embeddedIn[end] = s.StartID + uint32(i)
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
	s, end := r.split, id
	var path []uint32
	for end >= s.StartID {
		i := end - s.StartID
		if known := ends[i]; known == onPath {
			return 0, fmt.Errorf("BTF type [%d] leads to itself through modifiers and arrays", end)
		} else if known != unknown {
			end = known
			break
		}
		t := &s.Types[i]
		next := t.SizeOrType
		if t.Kind == btf.KindArray {
			next = s.ArrayOf(t).Elem
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
