package resolve

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// resolver is the work of this package.
type resolver struct {
	*survey.Survey
	base   base.Base // nil: there is none
	copies [][]types.ID
	jobs   int

	tags      []tag        // by number in Survey.Tags
	conflicts int          // how many of them are conflicted
	roles     []role       // by node
	anchors   []types.ID   // in the order of the graph
	shapes    []types.Hash // of shape, by node; nil before it is needed
	reachTags []bool       // of refsToTags, the same
	slots     slots

	environments
	common []types.ID // by tag: the definition that most units hold
	users  users
	view   *view
}

// tag is what the units and the base say of one tag.
type tag struct {
	def        types.ID // a definition that some unit holds; the only one unless it is conflicted
	conflicted bool
	varies     bool // it can mean several types: it is conflicted, or leads to a conflicted tag
	// The ids of the base's first definition and of its forward declaration, 0 for none.
	definition, declaration uint32
	several                 bool // the base has several definitions
}

// role says how a shape takes part when types are distinguished.
type role uint8

const (
	fixed  role = iota // leads to no conflicted tag: it is one type
	inner              // anonymous: means something only as a part of a type that has a name
	anchor             // a definition, a typedef, or a large anonymous shape: one type in a unit
	stub               // of a tag that varies
)

// shape returns the content hash of a node with every pinned stub read as an unpinned one.
func (r *resolver) shape(id types.ID) types.Hash {
	if !r.Tags.AnyPinned() {
		return r.Nodes[id].Hash
	}
	if r.shapes == nil {
		r.shapes = r.Graph.Unpinned()
	}
	return r.shapes[id]
}

// findConflicts looks at which definitions of the tags there are.
func (r *resolver) findConflicts() {
	r.tags = make([]tag, len(r.Tags.List))
	for _, id := range r.Tags.Nodes {
		if r.Kinds[id] == types.KindStub || r.Weight[id] == 0 {
			continue
		}
		t := &r.tags[r.Tags.Of(id)]
		t.conflicted = t.conflicted || t.def != 0
		t.def = id
	}
	for i := range r.tags {
		t := &r.tags[i]
		t.conflicted = t.conflicted || r.Tags.HasPinned(int32(i))
		if r.base != nil {
			r.lookUp(t, r.Tags.List[i].Hash)
		}
		if t.conflicted {
			r.conflicts++
		}
	}
}

// lookUp notes what the base has of a tag. A base that only declares a tag never means the
// definition that a unit has.
func (r *resolver) lookUp(t *tag, stub types.Hash) {
	count := 0
	t.definition, t.declaration, count = r.base.Tag(stub)
	t.several = count > 2 || count == 2 && t.declaration == 0
	switch {
	case t.conflicted:
	case count > 1:
		t.conflicted = true
	case count == 1 && t.def != 0:
		t.conflicted = t.definition == 0 || r.base.Find(r.shape(t.def)) != t.definition
	}
}

// findRoles finds the shapes that vary, backwards from the conflicted tags.
func (r *resolver) findRoles() {
	r.roles = make([]role, len(r.Nodes))
	if r.conflicts == 0 {
		return
	}
	var work, varying []types.ID // the latter without stubs
	become := func(id types.ID, as role) {
		if r.roles[id] == fixed {
			r.roles[id] = as
			varying = append(varying, id)
		}
	}
	vary := func(i int32) {
		r.tags[i].varies = true
		first := len(work)
		work = r.Tags.Stubs(i, work)
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
		for u := range r.Users.Of(id) {
			if r.roles[u] != fixed {
				continue
			}
			if n := &r.Nodes[u]; n.Kind == types.KindTypedef || n.IsDefinition() {
				become(u, anchor)
			} else {
				become(u, inner)
			}
			work = append(work, u)
			if t := r.Tags.Of(u); t >= 0 && !r.tags[t].varies && r.Weight[u] != 0 {
				vary(t)
			}
		}
	}
	for _, id := range r.Tags.Nodes { // definitions that vary only because stubs lead to them
		if r.tags[r.Tags.Of(id)].varies {
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

// findRolesOfUsers finds what varies of functions, variables, sections and declaration tags.
func (r *resolver) findRolesOfUsers(become func(types.ID, role)) {
	for _, list := range []*survey.Candidates{&r.Functions, &r.Variables} {
		for c := range list.All() {
			if r.roles[c.Ref] != fixed {
				become(c.Node, inner)
			}
		}
	}
	for _, id := range slices.Concat(r.Sections, r.DeclTags) {
		for _, c := range r.Graph.Refs(id, nil) {
			if r.roles[c] != fixed {
				become(id, inner)
			}
		}
	}
}

// large is how many varying shapes an anonymous shape must hold to be its own anchor. So no
// list of slots is long, whatever the input.
const large = 256

// findLarge makes anchors of large inner shapes. The varying shapes are given children first.
func (r *resolver) findLarge(varying []types.ID) {
	sizes := make([]uint16, len(r.Nodes))
	var refs []types.ID
	for _, id := range varying {
		if r.roles[id] != inner {
			continue
		}
		size := 1
		refs = r.Graph.Refs(id, refs[:0])
		for _, c := range refs {
			if r.roles[c] == inner {
				size += int(sizes[c])
			} else if r.roles[c] != fixed {
				size++
			}
			if size > large {
				break
			}
		}
		if sizes[id] = uint16(min(size, large)); size >= large {
			r.roles[id] = anchor
		}
	}
}
