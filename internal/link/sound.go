package link

import (
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// sound is a copy of an object, in which everything has a size (see unsized.go).
type sound struct {
	*object.Object
	ids  []types.ID // by node of the given object: the node in the copy, 0 if it isn't there
	loss string     // for the user: what the copy lacks, or ""
}

// makeSound copies an object, with the given units instead of the object's units. u is nil if
// everything has a size, but FLOATs are misaligned.
// Rule: types without a size, used by value: what becomes of them.
func makeSound(o *object.Object, units []object.Unit, u *unsized) (*sound, error) {
	if u == nil {
		u = &unsized{}
	}
	s := &sounder{u: u, from: o.Graph, to: types.NewSized(len(o.Graph.Nodes)),
		pointer: o.Target.AddrSize, unsized: make([]bool, len(o.Graph.Nodes)),
		lacking: make([]bool, len(o.Graph.Nodes)), ids: make([]types.ID, len(o.Graph.Nodes)),
		tags: map[types.TagName]bool{}}
	if err := s.copyNodes(); err != nil {
		return nil, err
	}
	to := *o
	to.Graph, to.Units = s.to, slices.Clone(units)
	for i := range to.Units {
		unit := &to.Units[i]
		unit.File = s.str(unit.File)
		seen := make(map[types.ID]bool, len(unit.Items))
		items := make([]types.ID, 0, len(unit.Items))
		for _, id := range unit.Items {
			if k := s.ids[id]; !seen[k] && !s.dropped(id, unit.FromBTF) {
				seen[k] = true
				items = append(items, k)
			}
		}
		unit.Items = items
	}
	return &sound{&to, s.ids, s.loss()}, nil
}

type sounder struct {
	u        *unsized
	from, to *types.Graph
	pointer  int
	unsized  []bool     // by node of from: it has no size, or is a function with such a parameter
	lacking  []bool     // by node of from: it is a struct that lacks members
	ids      []types.ID // by node of from
	elems    []types.Elem
	tags     map[types.TagName]bool // of the structs that lack members
	left     int                    // how many members are left out
	first    string                 // the first of them
}

func (s *sounder) str(n types.Str) types.Str { return s.to.Strs.Intern(s.from.Strs.Bytes(n)) }

// copyNodes copies the nodes in their order, in which types come after those that they refer to.
func (s *sounder) copyNodes() error {
	var pinned []types.ID
	for i := 1; i < len(s.from.Nodes); i++ {
		id := types.ID(i)
		if s.from.Nodes[i].IsPinned() {
			pinned = append(pinned, id)
		}
		s.ids[id] = s.copyNode(id)
	}
	for _, id := range pinned {
		if err := s.to.Define(s.ids[id], s.ids[s.from.Nodes[id].Ref]); err != nil {
			return err
		}
	}
	return nil
}

// copyNode returns the node in the copy for a node of the given graph, or 0 if it becomes void.
// Rule: skipped: parameter of a type that is only declared. Source: kernel btf_func_proto_check.
func (s *sounder) copyNode(id types.ID) types.ID {
	n := s.from.Nodes[id]
	elems := s.from.ElemsOf(&n)
	lacks := func(e types.Elem) bool { return s.unsized[e.Ref] }
	name := s.str(n.Name)
	switch {
	case n.Kind == types.KindStub:
		s.unsized[id] = s.u.tags[id]
		if n.IsPinned() {
			return s.to.PinnedStub(n.Tag(), name, s.from.Pin(&n))
		}
		return s.to.Stub(n.Tag(), name)
	case n.Kind == types.KindStruct, n.Kind == types.KindUnion:
		elems = s.members(id, elems)
	case n.Kind == types.KindFuncProto, n.Kind == types.KindArray:
		if s.unsized[id] = s.unsized[n.Ref] || slices.ContainsFunc(elems, lacks); s.unsized[id] {
			return 0
		}
	case n.Kind == types.KindFunc && s.unsized[n.Ref]:
		s.unsized[id] = true
		n.Size |= uint32(types.FuncUnsized)
		return s.to.Add(types.Node{Kind: n.Kind, Name: name, Size: n.Size, Aux: n.Aux,
			Ref: s.to.Add(types.Node{Kind: types.KindFuncProto}, nil)}, nil)
	case n.Kind == types.KindVar && s.unsized[n.Ref]:
		s.unsized[id] = true
		n.Ref = 0
	case isModifier(n.Kind):
		s.unsized[id] = s.unsized[n.Ref] && s.from.Nodes[n.Ref].Kind != types.KindFuncProto
	}
	s.elems = s.elems[:0]
	for _, e := range elems {
		s.elems = append(s.elems, types.Elem{Name: s.str(e.Name), Ref: s.ids[e.Ref], Val: e.Val})
	}
	n.Name, n.Ref = name, s.ids[n.Ref]
	if n.Kind == types.KindStruct {
		s.replaceMisaligned(&n, elems)
	}
	return s.to.Add(n, s.elems)
}

// members returns the members of struct or union id that are not left out.
func (s *sounder) members(id types.ID, all []types.Elem) []types.Elem {
	n := &s.from.Nodes[id]
	var kept []types.Elem
	for i, e := range all {
		if !s.unsized[e.Ref] && !s.u.misfits[member{id, i}] {
			kept = append(kept, e)
			continue
		}
		s.lacking[id] = true
		if n.Name == 0 {
			s.note(fmt.Sprintf("member %s of an anonymous struct or union", s.from.Strs.String(e.Name)))
			continue
		}
		if s.u.survey.Weight[id] != 0 { // units that don't count must not affect others
			s.tags[n.TagName()] = true
			s.note(fmt.Sprintf("member %s of %s", s.from.Strs.String(e.Name), s.from.Name(n)))
		}
	}
	return kept
}

func (s *sounder) note(member string) {
	if s.left++; s.left == 1 || member < s.first {
		s.first = member
	}
}

// replaceMisaligned replaces the FLOATs that aren't aligned in s.elems, the copied members of n.
func (s *sounder) replaceMisaligned(n *types.Node, from []types.Elem) {
	for i := range from {
		if size := misaligned(s.from, n, &from[i], s.pointer); size != 0 {
			s.elems[i].Ref = s.to.Add(types.Node{Kind: types.KindStruct, Size: size}, nil)
		}
	}
}

// dropped reports whether no unit of the copy holds a node of the given graph. BTF that was linked
// before loses functions and variables without a size; otherwise package decide lists them.
func (s *sounder) dropped(id types.ID, linked bool) bool {
	n := &s.from.Nodes[id]
	switch n.Kind {
	case types.KindFunc, types.KindVar:
		return linked && s.unsized[id]
	case types.KindDeclTag: // the number of the member may have changed
		of := &s.from.Nodes[n.Ref]
		return n.Aux != 0 && (s.lacking[n.Ref] || of.Kind == types.KindStub && s.tags[of.TagName()])
	}
	return s.ids[id] == 0
}

func (s *sounder) loss() string {
	if s.left == 0 {
		return ""
	}
	more := ""
	if s.left > 1 {
		more = fmt.Sprintf(" (and %s)", message.Count(s.left-1, "other"))
	}
	return s.first + " is left out" + more + ", because the debugging information only declares its " +
		"type; compile with -fstandalone-debug (clang) or -femit-class-debug-always (g++), and without " +
		"-femit-struct-debug-* (CONFIG_DEBUG_INFO_REDUCED)"
}
