package resolve

import (
	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// slotsOf returns the slots of a varying shape: the stubs and anchors at which its references end.
// Their order is that of the references in the shape and in the anonymous shapes within it. A stub
// or anchor may be listed several times.
func (r *resolver) slotsOf(id types.ID) []types.ID {
	s := &r.slots
	if s.of == nil {
		s.of = make([]uint32, len(r.Shapes.Nodes))
	}
	if s.of[id] == 0 {
		firstNode, firstFound := len(s.nodes), len(s.found) // slotsOf calls itself
		s.nodes = r.Shapes.Graph.Refs(id, s.nodes)
		for _, c := range s.nodes[firstNode:] {
			switch r.roles[c] {
			case fixed:
			case inner:
				s.found = append(s.found, r.slotsOf(c)...)
			default:
				s.found = append(s.found, c)
			}
		}
		s.all = append(s.all, types.ID(len(s.found)-firstFound))
		s.of[id] = uint32(len(s.all))
		s.all = append(s.all, s.found[firstFound:]...)
		s.nodes, s.found = s.nodes[:firstNode], s.found[:firstFound]
	}
	first := s.of[id]
	end := first + uint32(s.all[first-1])
	return s.all[first:end:end]
}

// slots has what slotsOf has found.
type slots struct {
	of  []uint32   // by node: the index in all of its first slot; 0: not known yet
	all []types.ID // the slots of each node, and before them their number

	nodes, found []types.ID // buffers
}

// isPinned reports whether a slot is a pinned stub, which means one particular definition.
func (r *resolver) isPinned(slot types.ID) bool {
	return r.roles[slot] == stub && r.Shapes.Nodes[slot].IsPinned()
}

// users has lists: for each anchor, the anchors that have a slot for it; for each tag, the anchors
// that have a slot for a stub of the tag. An anchor is listed once for each such slot.
type users struct {
	ofAnchor survey.Lists[types.ID, types.ID] // by anchor
	ofTag    survey.Lists[int32, types.ID]    // by tag
}

func (r *resolver) findUsers() {
	r.users.ofAnchor = survey.NewLists[types.ID, types.ID](len(r.Shapes.Nodes), 0)
	r.users.ofTag = survey.NewLists[int32, types.ID](len(r.tags), 0)
	for _, id := range r.anchors {
		for _, s := range r.slotsOf(id) {
			if r.roles[s] == stub {
				r.users.ofTag.Add(r.Shapes.Tags.Of(s), id)
			} else {
				r.users.ofAnchor.Add(s, id)
			}
		}
	}
}
