package resolve

import (
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/types"
)

// Type names a type of the result. 0 is void; below the number of nodes it is the one type that a
// fixed shape is; then come the variants of varying shapes, up to Types.Len.
type Type uint32

// Types are which type each shape is in each unit. Nothing changes them: a Type stays what it is.
type Types struct {
	*survey.Survey
	// Base is what the result stands on, nil for none.
	Base base.Base
	// Conflicts is how many tags have several definitions.
	Conflicts int
	// Attachments are the varying declaration tags and sections that units hold.
	Attachments []Attachment

	r        *resolver
	settled  *settled
	variants *variants
	meant    []Type                 // by node: the type of a fixed shape; of a stub, its definition
	held     map[types.Str][]uint32 // by name: the variants of functions and variables
}

// Attachment is a declaration tag or a section that varies, as a unit has it.
type Attachment struct {
	Node types.ID
	refs []uint32 // what its varying references are, in order
}

// Resolve finds the types. copies are what Copies has found.
func Resolve(s *survey.Survey, b base.Base, copies [][]types.ID, jobs int) *Types {
	r := &resolver{Survey: s, base: b, copies: copies, jobs: jobs}
	r.findConflicts()
	r.findRoles()
	t := &Types{Survey: s, Base: b, Conflicts: r.conflicts(), r: r, held: map[types.Str][]uint32{}}
	t.variants = &variants{r: r, frozen: true}
	if t.Conflicts > 0 {
		r.findEnvironments()
	}
	if len(r.list) > 0 {
		r.view = newView(len(r.tags), len(r.Nodes))
		t.settled = r.settle()
		t.variants, t.Attachments = r.makeVariants(t.settled)
	}
	for i := range t.variants.list {
		if v := &t.variants.list[i]; v.weight != 0 {
			name := t.Nodes[v.node].Name
			t.held[name] = append(t.held[name], uint32(i))
		}
	}
	t.findMeant()
	return t
}

// findMeant notes which type each fixed shape is.
func (t *Types) findMeant() {
	t.meant = make([]Type, len(t.Nodes))
	for id := range t.meant {
		t.meant[id] = Type(id)
	}
	for i := range t.r.tags {
		stub, def := t.Tags.List[i].Stub, t.r.tags[i].def
		if stub != 0 && def != 0 && t.r.roles[stub] == fixed {
			t.meant[stub] = Type(def)
		}
	}
}

// Len is the number of types, void included. Numbers from Len on are free for others.
func (t *Types) Len() int { return len(t.Nodes) + len(t.variants.list) }

// Fixed tells whether a shape is the same type in all units.
func (t *Types) Fixed(id types.ID) bool { return t.r.roles[id] == fixed }

// Of returns the type of a fixed shape.
func (t *Types) Of(id types.ID) Type { return t.meant[id] }

// variant returns the variant that k is, nil if it is the type of a fixed shape.
func (t *Types) variant(k Type) *variant {
	if int(k) < len(t.Nodes) {
		return nil
	}
	return &t.variants.list[int(k)-len(t.Nodes)]
}

// IsVariant tells whether a type is a variant of a varying shape.
func (t *Types) IsVariant(k Type) bool { return int(k) >= len(t.Nodes) }

func (t *Types) typeOf(variant uint32) Type { return Type(uint32(len(t.Nodes)) + variant) }

// Shape returns the shape of a type.
func (t *Types) Shape(k Type) types.ID {
	if v := t.variant(k); v != nil {
		return v.node
	}
	return types.ID(k)
}

// Node returns the node of the shape of a type.
func (t *Types) Node(k Type) *types.Node { return &t.Nodes[t.Shape(k)] }

// Content identifies the content of a type, by a hash that is the same in every link of the same
// units.
func (t *Types) Content(k Type) types.Hash {
	if v := t.variant(k); v != nil {
		return v.colour
	}
	return t.Nodes[k].Hash
}

// PlainShape returns the content hash of a shape whatever definitions are meant by the tags in it.
func (t *Types) PlainShape(id types.ID) types.Hash { return t.r.shape(id) }

// TagHash returns the content hash of the stub for a definition or stub.
func (t *Types) TagHash(id types.ID) types.Hash { return t.Tags.List[t.Tags.Of(id)].Hash }

// BaseID returns the id that a type has in the base, 0 if it is not there.
func (t *Types) BaseID(k Type) uint32 {
	switch v := t.variant(k); {
	case t.Base == nil:
		return 0
	case v != nil:
		return v.based
	}
	return t.r.fixedBaseID(types.ID(k))
}

// Roots calls yield with the variants that units hold for themselves.
func (t *Types) Roots(yield func(Type) bool) {
	for i := range t.variants.list {
		if t.variants.list[i].root && !yield(t.typeOf(uint32(i))) {
			return
		}
	}
}

// Variants calls yield with all variants.
func (t *Types) Variants(yield func(Type) bool) {
	for i := range t.variants.list {
		if !yield(t.typeOf(uint32(i))) {
			return
		}
	}
}

// Refs resolves the references of one type, in the order of types.Graph.Refs.
type Refs struct {
	t    *Types
	args []uint32
}

// Refs returns the references of a type.
func (t *Types) Refs(k Type) Refs {
	w := Refs{t: t}
	if v := t.variant(k); v != nil {
		w.args = t.variants.args[v.arg : v.arg+v.args]
	}
	return w
}

// RefsOf returns the references of an attachment.
func (t *Types) RefsOf(a *Attachment) Refs { return Refs{t, a.refs} }

// Next returns the type of the next reference, which is to the node id in the shape; void may be
// left out.
func (w *Refs) Next(id types.ID) Type {
	if len(w.args) == 0 || w.t.r.roles[id] == fixed {
		return w.t.meant[id]
	}
	k := w.t.typeOf(w.args[0])
	w.args = w.args[1:]
	return k
}

// RefOf returns the type that the Ref of a type's shape is.
func (t *Types) RefOf(k Type) Type {
	w := t.Refs(k)
	return w.Next(t.Node(k).Ref)
}

// VaryingRefs returns the references of a type that are variants, in order.
func (t *Types) VaryingRefs(k Type) []Type {
	v := t.variant(k)
	if v == nil {
		return nil
	}
	list := make([]Type, v.args)
	for i, a := range t.variants.args[v.arg : v.arg+v.args] {
		list[i] = t.typeOf(a)
	}
	return list
}

// In returns the type that a shape is in a unit that holds it.
func (t *Types) In(unit int, id types.ID) Type {
	if t.r.roles[id] == fixed {
		return Type(id)
	}
	return t.typeOf(t.variants.in(t.settled.enter(t.r.of[unit]), id))
}

// Holder is a function or variable as some units hold it.
type Holder struct {
	Type   Type
	Ref    Type   // its type
	Weight uint64 // how many units hold it as a candidate
	Size   uint32 // of a function: its flags; of a variable: its size in bytes
	Linked bool   // BTF that was linked before holds it as a result
}

// Holders appends the functions or variables of a name that units hold.
func (t *Types) Holders(kind types.Kind, name types.Str, into []Holder) []Holder {
	list := &t.Functions
	if kind == types.KindVar {
		list = &t.Variables
	}
	varies := false
	for c := list.Last(name); c != nil; c = list.Before(c) {
		switch weight := t.Weight[c.Node]; {
		case t.r.roles[c.Node] != fixed:
			varies = true
		case weight != 0:
			linked := t.LinkedWeight != nil && t.LinkedWeight[c.Node] != 0
			into = append(into, Holder{Type(c.Node), t.meant[c.Ref], weight, c.Size, linked})
		}
	}
	if varies {
		for _, i := range t.held[name] {
			v := &t.variants.list[i]
			if n := &t.Nodes[v.node]; n.Kind == kind {
				k := t.typeOf(i)
				into = append(into, Holder{k, t.RefOf(k), v.weight, n.Size, v.linked != 0})
			}
		}
	}
	return into
}
