package resolve

import "github.com/rules-btf/rules_btf/internal/types"

// slotsOf returns the stubs and anchors at which the references of a varying shape end, in the
// order in which they stand in the shape and in the anonymous shapes in it. One that stands there
// several times is listed as often. What the slots mean is all that tells the variants of a shape
// apart.
func (r *resolver) slotsOf(id types.ID) []types.ID {
	if r.slots.of == nil {
		r.slots.of = make([]uint32, len(r.Nodes))
	}
	if i := r.slots.of[id]; i != 0 {
		return r.slots.lists[i-1]
	}
	var list []types.ID
	for _, c := range r.Graph.Refs(id, nil) {
		switch r.roles[c] {
		case fixed:
		case inner:
			list = append(list, r.slotsOf(c)...)
		default:
			list = append(list, c)
		}
	}
	r.slots.lists = append(r.slots.lists, list)
	r.slots.of[id] = uint32(len(r.slots.lists))
	return list
}

// slots remembers what slotsOf has found.
type slots struct {
	of    []uint32 // by node: its index in lists + 1
	lists [][]types.ID
}

// pinned tells whether a slot is a stub that means one certain definition.
func (r *resolver) pinned(slot types.ID) bool {
	return r.roles[slot] == stub && r.Nodes[slot].Size != 0
}

// users lists, for every anchor (key: its node) and every tag (key: the number of nodes + its
// number), the anchors that have a slot for it.
type users struct {
	first []uint32
	list  []types.ID
}

func (u *users) of(key uint32) []types.ID { return u.list[u.first[key]:u.first[key+1]] }

// usersOfTag returns the anchors that have a stub of a tag as slot.
func (r *resolver) usersOfTag(t int32) []types.ID {
	return r.users.of(uint32(len(r.Nodes)) + uint32(t))
}

func (r *resolver) findUsers() {
	u := &r.users
	n := uint32(len(r.Nodes))
	u.first = make([]uint32, len(r.Nodes)+len(r.tags)+2)
	each := func(f func(key uint32, user types.ID)) {
		for _, id := range r.anchors {
			for _, s := range r.slotsOf(id) {
				if r.roles[s] == stub {
					f(n+uint32(r.Tags.Of(s)), id)
				} else {
					f(uint32(s), id)
				}
			}
		}
	}
	each(func(key uint32, _ types.ID) { u.first[key+2]++ })
	for i := 2; i < len(u.first); i++ {
		u.first[i] += u.first[i-1]
	}
	u.list = make([]types.ID, u.first[len(u.first)-1])
	each(func(key uint32, user types.ID) {
		u.list[u.first[key+1]] = user
		u.first[key+1]++
	})
}
