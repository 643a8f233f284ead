package survey

import (
	"iter"

	"github.com/rules-btf/rules_btf/internal/types"
)

// Candidates are the FUNC or VAR nodes, as lists by name.
type Candidates struct {
	list   []Candidate
	byName []uint32 // the index of the last one of this name in list + 1
}

// Candidate is a FUNC or VAR node. What is asked for most of it is kept apart from the nodes.
type Candidate struct {
	Node types.ID
	Ref  types.ID
	Size uint32 // of a FUNC: its flags
	next uint32 // as byName
}

func (c *Candidates) add(id types.ID, n *types.Node) {
	c.list = append(c.list, Candidate{id, n.Ref, n.Size, c.byName[n.Name]})
	c.byName[n.Name] = uint32(len(c.list))
}

// All returns all candidates.
func (c *Candidates) All() []Candidate { return c.list }

// Names calls yield with each name that a candidate has.
func (c *Candidates) Names() iter.Seq[types.Str] {
	return func(yield func(types.Str) bool) {
		for name, last := range c.byName {
			if last != 0 && !yield(types.Str(name)) {
				return
			}
		}
	}
}

// Last returns the last candidate of a name, nil if there is none.
func (c *Candidates) Last(name types.Str) *Candidate {
	if int(name) >= len(c.byName) {
		return nil
	}
	return c.at(c.byName[name])
}

// Before returns the candidate of the same name before k, nil if k is the first.
func (c *Candidates) Before(k *Candidate) *Candidate { return c.at(k.next) }

func (c *Candidates) at(i uint32) *Candidate {
	if i == 0 {
		return nil
	}
	return &c.list[i-1]
}

// Users are, for each shape from which a stub can be reached, the types that refer to it. Only
// these can mean several types. Functions, variables, sections and declaration tags are not listed.
type Users struct {
	first []uint32 // by node: the index of its last user in list + 1
	list  []user
}

type user struct {
	node types.ID
	next uint32 // as first
}

func (u *Users) init(nodes, elems int) {
	u.first = make([]uint32, nodes)
	u.list = make([]user, 0, nodes/2+elems)
}

func (u *Users) add(of, by types.ID) {
	u.list = append(u.list, user{by, u.first[of]})
	u.first[of] = uint32(len(u.list))
}

// Of returns the types that refer to a shape; a type may come several times.
func (u *Users) Of(id types.ID) iter.Seq[types.ID] {
	return func(yield func(types.ID) bool) {
		for at := u.first[id]; at != 0; at = u.list[at-1].next {
			if !yield(u.list[at-1].node) {
				return
			}
		}
	}
}
