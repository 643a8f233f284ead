package shared

import "github.com/rules-btf/rules_btf/internal/link/base"

// tags has what is not the same in all modules.
type tags struct {
	definition []uint32 // by stub: the shape that defines the tag, 0 if there is none, or several
	// By shape: it leads to a tag with several definitions, so it may be several types. By stub: the
	// tag has several definitions, counting the base's, or its only one varies.
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

// users lists, for each node of a graph, the nodes that refer to it.
type users struct {
	first []uint32 // by node: the first of those that refer to it, by index in list
	list  []user
}

// user is a node that refers to another; next is the next one that refers to the same, 0 for none.
type user struct{ node, next uint32 }

func newUsers(nodes int) *users {
	return &users{first: make([]uint32, nodes), list: make([]user, 1)}
}

func (u *users) add(from, to uint32) {
	u.list = append(u.list, user{from, u.first[to]})
	u.first[to] = uint32(len(u.list) - 1)
}

// spread marks all nodes that lead to marked ones.
func (u *users) spread(marked []bool) {
	var work []uint32
	for n, is := range marked {
		if is {
			work = append(work, uint32(n))
		}
	}
	for k := 0; k < len(work); k++ {
		for i := u.first[work[k]]; i != 0; i = u.list[i].next {
			if from := u.list[i].node; !marked[from] {
				marked[from] = true
				work = append(work, from)
			}
		}
	}
}
