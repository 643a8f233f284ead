package link

import (
	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/types"
)

// survey is what one walk over the shapes tells, whatever the units hold of them.
type survey struct {
	kinds     []types.Kind      // by node: the nodes themselves are too big to stay in a cache
	tagged    []types.ID        // stubs and definitions
	unnamed   [btf.NumKinds]int // by kind: how many have no name
	functions candidates
	variables candidates
	sections  []types.ID
	declTags  []types.ID
	users     userLists
}

// candidates are the FUNCs or VARs, as lists by name.
type candidates struct {
	list   []candidate
	byName []uint32 // the index of the last one of this name in list + 1
}

type candidate struct {
	node types.ID
	ref  types.ID
	size uint32 // of a FUNC: its flags
	next uint32 // as byName
}

func (c *candidates) add(id types.ID, n *types.Node) {
	c.list = append(c.list, candidate{id, n.Ref, n.Size, c.byName[n.Name]})
	c.byName[n.Name] = uint32(len(c.list))
}

// userLists are the types that refer to each shape from which a stub can be reached: only these can
// vary. What is no type (functions, variables, sections, declaration tags) isn't listed.
type userLists struct {
	first []uint32 // by node: the index of its last user in list + 1
	list  []user
}

type user struct {
	node types.ID
	next uint32 // as first
}

func (l *linker) survey() {
	s := &l.seen
	s.kinds = make([]types.Kind, len(l.nodes))
	s.users.first = make([]uint32, len(l.nodes))
	s.users.list = make([]user, 0, len(l.nodes)/2+len(l.g.Elems))
	s.functions = candidates{make([]candidate, 0, len(l.nodes)/2), make([]uint32, l.g.Strs.Len())}
	t := &l.tags
	t.byName = make([]int32, l.g.Strs.Len())
	t.of = make([]int32, len(l.nodes))
	leads := make([]bool, len(l.nodes)) // a stub can be reached
	tag := func(id types.ID, n *types.Node, space types.Tag) {
		if n.Name != 0 {
			s.tagged = append(s.tagged, id)
			t.add(l.g, id, space)
		}
	}
	for i := range l.nodes {
		id, n := types.ID(i), &l.nodes[i]
		s.kinds[id], t.of[id] = n.Kind, -1
		if n.Name == 0 {
			s.unnamed[n.Kind%btf.NumKinds]++
		}
		elems := l.g.Elems[n.First : n.First+n.Count]
		switch n.Kind {
		case types.KindFunc:
			s.functions.add(id, n)
			continue
		case types.KindVar:
			if s.variables.byName == nil {
				s.variables.byName = make([]uint32, l.g.Strs.Len())
			}
			s.variables.add(id, n)
			continue
		case types.KindDatasec:
			s.sections = append(s.sections, id)
			continue
		case types.KindDeclTag:
			s.declTags = append(s.declTags, id)
			continue
		case types.KindStub:
			leads[id] = true
			tag(id, n, types.Tag(n.Aux))
			continue
		case types.KindEnum, types.KindEnum64:
			tag(id, n, types.TagEnum)
			continue
		case types.KindStruct, types.KindUnion:
			tag(id, n, types.TagOf(n.Kind))
		}
		if leads[n.Ref] {
			leads[id] = true
			s.users.add(n.Ref, id)
		}
		for j := range elems {
			if r := elems[j].Ref; leads[r] {
				leads[id] = true
				s.users.add(r, id)
			}
		}
	}
}

func (u *userLists) add(of, by types.ID) {
	u.list = append(u.list, user{by, u.first[of]})
	u.first[of] = uint32(len(u.list))
}
