package shared

import "github.com/rules-btf/rules_btf/internal/link/base"

// tags says which tags have several definitions.
type tags struct {
	definition []uint32 // by stub: the only shape that defines the tag; 0 if none, or if it varies
	// For a shape, varies says whether it leads to a tag with several definitions, so that types of
	// this shape can differ. For a stub, it says whether the tag has several definitions (including
	// the base's), or a single definition whose shape varies.
	varies []bool
}

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
	first []uint32 // by node: the index in list of the first node that refers to it
	list  []user
}

// user is a node that refers to another node; next is the index of that node's next user, or 0.
type user struct{ node, next uint32 }

func newUsers(nodes int) *users {
	return &users{first: make([]uint32, nodes), list: make([]user, 1)}
}

func (u *users) add(from, to uint32) {
	u.list = append(u.list, user{from, u.first[to]})
	u.first[to] = uint32(len(u.list) - 1)
}

// spread marks all nodes that lead to a marked node.
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
