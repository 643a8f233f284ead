package shared

import "github.com/rules-btf/rules_btf/internal/link/base"

// tags says what is not the same in all modules.
type tags struct {
	definition []uint32 // by stub: the shape that defines the tag, 0 if there is none, or several
	// By shape: it leads to a tag with several definitions, so it may be several types. By stub: the
	// tag has several definitions, one of which may be the base's, or its only one varies.
	varies []bool
}

// findTags finds the tags with several definitions, and what leads to them.
func (s *Set) findTags(below base.Base) *tags {
	n := len(s.shapes.hashes)
	t := &tags{definition: make([]uint32, n), varies: make([]bool, n)}
	users := newUsers(n)
	end := s.base.EndID()
	for i := range s.shapes.Types {
		for ref := range s.shapes.Refs(&s.shapes.Types[i]) {
			if *ref >= end {
				users.add(uint32(i), *ref-end)
			}
		}
		stub := s.shapes.stub[i]
		if stub == 0 || stub == uint32(i) {
			continue
		}
		users.add(stub, uint32(i))
		inBase, _, _ := below.Tag(s.shapes.hashes[stub])
		if t.definition[stub] != 0 || t.varies[stub] || inBase != 0 {
			t.definition[stub], t.varies[stub] = 0, true
		} else {
			t.definition[stub] = uint32(i)
		}
	}
	users.spread(t.varies)
	for stub, varies := range t.varies {
		if varies {
			t.definition[stub] = 0
		}
	}
	return t
}
