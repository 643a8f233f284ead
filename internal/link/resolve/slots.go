package resolve

import (
	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// slotsOf returns the slots of a varying shape: the stubs and anchors at which its references end.
// Their order is that of the references in the shape and in the anonymous shapes within it. A stub
// or anchor may be listed several times.
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

type slots struct {
	of    []uint32 // by node: its index in lists + 1
	lists [][]types.ID
}

// isPinned reports whether a slot is a pinned stub, which means one particular definition.
func (r *resolver) isPinned(slot types.ID) bool {
	return r.roles[slot] == stub && r.Nodes[slot].IsPinned()
}

// users has lists: for each anchor, the anchors that have a slot for it; for each tag, the anchors
// that have a slot for a stub of the tag. An anchor is listed once for each such slot.
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
