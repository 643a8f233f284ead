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
	n := uint32(len(s.shapes.hashes))
	t := &tags{definition: make([]uint32, n), varies: make([]bool, n)}
	var work []uint32 // shapes that vary, of which those that refer to them are not marked yet
	vary := func(shape uint32) {
		if !t.varies[shape] {
			t.varies[shape] = true
			work = append(work, shape)
		}
	}
	for shape, stub := range s.shapes.stub {
		if stub == 0 || stub == uint32(shape) {
			continue
		}
		inBase, _, _ := below.Tag(s.shapes.hashes[stub])
		if t.definition[stub] != 0 || t.varies[stub] || inBase != 0 {
			t.definition[stub] = 0
			vary(stub)
		} else {
			t.definition[stub] = uint32(shape)
		}
	}
	begin, users := s.referrers()
	for len(work) > 0 {
		shape := work[len(work)-1]
		work = work[:len(work)-1]
		for _, user := range users[begin[shape]:begin[shape+1]] {
			vary(user)
		}
		if stub := s.shapes.stub[shape]; stub != 0 && stub != shape {
			vary(stub)
		}
	}
	return t
}

// referrers returns for each shape those that refer to it: referrers[begin[i]:begin[i+1]].
func (s *Set) referrers() (begin, referrers []uint32) {
	n := uint32(len(s.shapes.hashes))
	begin = make([]uint32, n+1)
	each := func(do func(from, to uint32)) {
		for i := range s.shapes.Types {
			for ref := range s.shapes.Refs(&s.shapes.Types[i]) {
				if *ref >= s.base.EndID() {
					do(uint32(i), *ref-s.base.EndID())
				}
			}
		}
	}
	each(func(_, to uint32) { begin[to+1]++ })
	for i := range n {
		begin[i+1] += begin[i]
	}
	referrers = make([]uint32, begin[n])
	next := append([]uint32{}, begin...)
	each(func(from, to uint32) {
		referrers[next[to]] = from
		next[to]++
	})
	return begin, referrers
}
