package resolve

import (
	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// slotsOf returns the stubs and anchors at which the references of a varying shape end, in their
// order in the shape and in the anonymous shapes within it, repeats included. The meanings of the
// slots distinguish the variants of a shape.
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

// pinned reports whether a slot is a stub that means one certain definition.
func (r *resolver) pinned(slot types.ID) bool {
	return r.roles[slot] == stub && r.Nodes[slot].IsPinned()
}

// users are the anchors that have a slot for an anchor, or for a stub of a tag. One with several
// such slots is listed as often.
type users struct {
	ofAnchor survey.Lists[types.ID, types.ID] // by anchor
	ofTag    survey.Lists[int32, types.ID]    // by tag
}

func (r *resolver) findUsers() {
	r.users.ofAnchor = survey.NewLists[types.ID, types.ID](len(r.Nodes), 0)
	r.users.ofTag = survey.NewLists[int32, types.ID](len(r.tags), 0)
	for _, id := range r.anchors {
		for _, s := range r.slotsOf(id) {
			if r.roles[s] == stub {
				r.users.ofTag.Add(r.Tags.Of(s), id)
			} else {
				r.users.ofAnchor.Add(s, id)
			}
		}
	}
}
