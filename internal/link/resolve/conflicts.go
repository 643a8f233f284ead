package resolve

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

type resolver struct {
	*Types // without variants
	Held   *survey.Held
	copies [][]types.ID
	jobs   int

	anchors   []types.ID              // in the order of the graph
	first     map[types.Hash]types.ID // by shape: the result of unpinned
	reachTags []bool                  // by node: types.Graph.Leads; nil until it is needed
	slots     slots

	environments
	common []types.ID // by tag: the definition that most units hold
	users  users
	view   *view
}

// tag has the definitions and declarations of one tag in the units and the base.
type tag struct {
	def        types.ID // a definition that some unit holds; the only one unless conflicted is set
	conflicted bool
	varies     bool // the tag can mean several types: it is conflicted, or leads to a conflicted tag
	// These are the base's first definition and its forward declaration, each 0 if there is none.
	definition, declaration uint32
	several                 bool // the base has several definitions
}

// role says what part a shape plays when types are distinguished.
type role uint8

const (
	fixed  role = iota // leads to no conflicted tag: it is one type in all units
	inner              // anonymous: has a meaning only as part of a named type
	anchor             // a definition, a typedef, or a large anonymous shape: one type per unit
	stub               // a stub of a tag that varies
)

// unpinned returns a node that stands for all nodes with the same shape.
func (r *resolver) unpinned(id types.ID) types.ID {
	if r.plain == nil {
		return id
	}
	if r.first == nil {
		r.first = map[types.Hash]types.ID{}
	}
	shape := r.PlainShape(id)
	first, ok := r.first[shape]
	if !ok {
		r.first[shape], first = id, id
	}
	return first
}

// Rule: conflicted tags.
func (r *resolver) findConflicts() {
	r.tags = make([]tag, len(r.Shapes.Tags.List))
	for _, id := range r.Shapes.Tags.Nodes {
		if r.Shapes.Kinds[id] == types.KindStub || r.Shapes.Weight[id] == 0 {
			continue
		}
		t := &r.tags[r.Shapes.Tags.Of(id)]
		t.conflicted = t.conflicted || t.def != 0
		t.def = id
	}
	for i := range r.tags {
		t := &r.tags[i]
		t.conflicted = t.conflicted || r.Shapes.Tags.HasPinned(int32(i))
		if r.Base != nil {
			r.lookUp(t, r.Shapes.TagHash(int32(i)))
		}
		if t.conflicted {
			r.Conflicts++
		}
	}
}

// lookUp records the base's definitions and declarations of a tag. If the base only declares a tag,
// the base's declaration never means a unit's definition.
func (r *resolver) lookUp(t *tag, stub types.Hash) {
	count := 0
	t.definition, t.declaration, count = r.Base.Tag(stub)
	t.several = count > 2 || count == 2 && t.declaration == 0
	found := uint32(0)
	if t.def != 0 {
		if t.definition != 0 {
			found = r.Base.Find(r.PlainShape(t.def))
		}
		r.Found.count(t.definition != 0, found != 0)
	}
	switch {
	case t.conflicted:
	case count > 1:
		t.conflicted = true
	case count == 1 && t.def != 0:
		t.conflicted = t.definition == 0 || found != t.definition
	}
}

// findRoles finds the shapes that vary: it follows references backwards from conflicted tags.
// Rule: varying shapes.
func (r *resolver) findRoles(users *survey.Lists[types.ID, types.ID]) {
	r.roles = make([]role, len(r.Shapes.Nodes))
	if r.Conflicts == 0 {
		return
	}
	var work, varying []types.ID // varying has no stubs
	become := func(id types.ID, as role) {
		if r.roles[id] == fixed {
			r.roles[id] = as
			varying = append(varying, id)
		}
	}
	vary := func(i int32) {
		r.tags[i].varies = true
		first := len(work)
		work = r.Shapes.Tags.Stubs(i, work)
		for _, id := range work[first:] {
			r.roles[id] = stub
		}
	}
	for i := range r.tags {
		if r.tags[i].conflicted {
			vary(int32(i))
		}
	}
	for len(work) > 0 {
		id := work[len(work)-1]
		work = work[:len(work)-1]
		for u := range users.Of(id) {
			if r.roles[u] != fixed {
				continue
			}
			if n := &r.Shapes.Nodes[u]; n.Kind == types.KindTypedef || n.IsDefinition() {
				become(u, anchor)
			} else {
				become(u, inner)
			}
			work = append(work, u)
			if t := r.Shapes.Tags.Of(u); t >= 0 && !r.tags[t].varies && r.Shapes.Weight[u] != 0 {
				vary(t)
			}
		}
	}
	for _, id := range r.Shapes.Tags.Nodes { // definitions that vary only because their tags do
		if r.tags[r.Shapes.Tags.Of(id)].varies {
			become(id, anchor)
		}
	}
	r.findRolesOfUsers(become)
	slices.Sort(varying) // children come first in the graph
	r.findLarge(varying)
	for _, id := range varying {
		if r.roles[id] == anchor {
			r.anchors = append(r.anchors, id)
		}
	}
}

// isUser reports whether a shape is that of a function, variable, section or declaration tag.
func (r *resolver) isUser(id types.ID) bool {
	switch r.Shapes.Kinds[id] {
	case types.KindFunc, types.KindVar, types.KindDatasec, types.KindDeclTag:
		return true
	}
	return false
}

// findRolesOfUsers finds the functions, variables, sections and declaration tags that vary because
// their references vary.
func (r *resolver) findRolesOfUsers(become func(types.ID, role)) {
	for _, list := range []*survey.Candidates{&r.Held.Functions, &r.Held.Variables} {
		for c := range list.All() {
			if r.roles[c.Ref] != fixed {
				become(c.Node, inner)
			}
		}
	}
	for _, id := range slices.Concat(r.Held.Sections, r.Held.DeclTags) {
		for _, c := range r.Shapes.Graph.Refs(id, nil) {
			if r.roles[c] != fixed {
				become(id, inner)
			}
		}
	}
}

// large is how many varying shapes an anonymous shape must contain to become an anchor. If there
// are then more than maxSlots slots in all, which only hostile input reaches, the number is lower.
// So slot lists take little memory for any input.
const (
	large    = 1 << 8
	maxSlots = 1 << 22
)

// findLarge turns large inner shapes into anchors. In the list varying, a shape comes after the
// shapes that it refers to.
func (r *resolver) findLarge(varying []types.ID) {
	sizes := make([]uint16, len(r.Shapes.Nodes))
	for least := large; !r.findLargerThan(least, varying, sizes); least /= 2 {
	}
}

// findLargerThan turns inner shapes into anchors that contain this number of varying shapes. It
// returns false, and changes nothing, if there are too many slots with this number. In sizes, it
// stores the sizes of inner shapes.
func (r *resolver) findLargerThan(least int, varying []types.ID, sizes []uint16) bool {
	var larger, refs []types.ID
	slots := 0
	for _, id := range varying {
		size := 1
		refs = r.Shapes.Graph.Refs(id, refs[:0])
		for _, c := range refs {
			switch r.roles[c] {
			case inner:
				size += int(sizes[c])
			case fixed:
			default:
				size++
			}
		}
		if slots += size - 1; slots > maxSlots && least > 1 {
			for _, id := range larger {
				r.roles[id] = inner
			}
			return false
		}
		if r.roles[id] != inner {
			continue
		}
		if sizes[id] = uint16(min(size, least)); size >= least && !r.isUser(id) {
			r.roles[id] = anchor
			larger = append(larger, id)
		}
	}
	return true
}
