package resolve

import (
	"iter"

	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Type is the number of a type of the result. 0 is void; the type of a fixed shape has the shape's
// number; then come the variants of varying shapes, up to Types.Len.
type Type uint32

// typeOf returns the type of a fixed shape that isn't a stub; see Types.Of.
func typeOf(shape types.ID) Type { return Type(shape) }

// Node and Elem are like those of a graph, but refer to types of the result.
type (
	Node = types.NodeOf[Type]
	Elem = types.ElemOf[Type]
)

// Types has the types that the shapes become. Nothing changes it after Resolve.
type Types struct {
	Shapes    *survey.Shapes
	Base      base.Base // the base of the result, or nil if there is none
	Conflicts int       // how many tags have several definitions
	Found     Found     // zero without a base

	tags     []tag        // by number in Survey.Tags
	roles    []role       // by node
	plain    []types.Hash // by node: the result of PlainShape; nil if no stub is pinned
	variants variants
}

// Candidates has the types, and which functions and variables units hold.
type Candidates struct {
	*Types
	Held       *survey.Held
	byName     map[types.Str][]Type // by name: the variants of functions and variables
	candidates [][]Type             // by unit: the types of varying functions and variables, in order
	attached   []attachment
}

// attachment is a varying declaration tag or section in one unit that holds it.
type attachment struct {
	node types.ID
	refs []Type // the types that its varying references mean, in order
}

// Units says which type each shape becomes in each unit. It is as large as all that Resolve has
// found out, and only one thread at a time may use it.
type Units struct {
	r    *resolver
	made *maker // nil if nothing varies
}

// Resolve runs the passes in the package comment. The parameter copies comes from Copies.
func Resolve(s *survey.Survey, b base.Base, copies [][]types.ID, jobs int) (*Candidates, *Units) {
	r := &resolver{Types: &Types{Shapes: s.Shapes, Base: b, variants: variants{begin: len(s.Nodes)}},
		Held: s.Held, copies: copies, jobs: jobs}
	if s.Tags.AnyPinned() {
		r.plain = s.Graph.Unpinned()
	}
	r.findConflicts()
	r.findRoles(&s.Users)
	c, u := &Candidates{Types: r.Types, Held: s.Held}, &Units{r: r}
	if r.Conflicts > 0 {
		r.findEnvironments()
	}
	if len(r.list) > 0 {
		r.view = newView(len(r.tags), len(r.Shapes.Nodes))
		u.made = r.makeVariants(c, r.settle())
	}
	c.findHeld()
	return c, u
}

// findHeld lists the variants that units hold as functions and variables.
func (t *Candidates) findHeld() {
	t.byName = map[types.Str][]Type{}
	for k := range t.Variants {
		if t.variants.at(k).weight != 0 {
			name := t.Node(k).Name
			t.byName[name] = append(t.byName[name], k)
		}
	}
}

// Len is the number of types, void included. Numbers from Len on are free for other packages.
func (t *Types) Len() int { return len(t.Shapes.Nodes) + t.variants.len }

// Fixed reports whether a shape is the same type in all units.
func (t *Types) Fixed(id types.ID) bool { return t.roles[id] == fixed }

// Of returns the type of a fixed shape: itself or, for a stub, the tag's definition.
// Rule: forward declarations: of a tag that isn't conflicted. Source: libbpf
// btf_dedup_resolve_fwds.
func (t *Types) Of(id types.ID) Type {
	if t.Shapes.Kinds[id] == types.KindStub {
		if def := t.tags[t.Shapes.Tags.Of(id)].def; def != 0 {
			return typeOf(def)
		}
	}
	return typeOf(id)
}

// IsFixed reports whether a type is that of a fixed shape.
func (t *Types) IsFixed(k Type) bool { return int(k) < len(t.Shapes.Nodes) }

// Shape returns the shape of a type.
func (t *Types) Shape(k Type) types.ID {
	if v := t.variants.at(k); v != nil {
		return v.node
	}
	return types.ID(k)
}

// Node returns the node of a type's shape.
func (t *Types) Node(k Type) *types.Node { return &t.Shapes.Nodes[t.Shape(k)] }

// Content returns a hash of the content of a type, the same one in every link of the same units.
func (t *Types) Content(k Type) types.Hash {
	if v := t.variants.at(k); v != nil {
		return v.colour
	}
	return t.Node(k).Hash
}

// PlainShape returns the content hash that a node would have if every pinned stub in it were
// unpinned: it ignores which definitions the tags mean.
func (t *Types) PlainShape(id types.ID) types.Hash {
	if t.plain == nil {
		return t.Shapes.Nodes[id].Hash
	}
	return t.plain[id]
}

// BaseID returns the id that a type has in the base, or 0 if it is not in the base.
func (t *Types) BaseID(k Type) uint32 {
	switch v := t.variants.at(k); {
	case t.Base == nil:
		return 0
	case v != nil:
		return v.based
	}
	return t.fixedBaseID(t.Shape(k))
}

// Variants calls yield with each variant, and with whether a unit holds it directly (root).
func (t *Types) Variants(yield func(k Type, root bool) bool) {
	for k := Type(len(t.Shapes.Nodes)); int(k) < t.Len(); k++ {
		if !yield(k, t.variants.at(k).root) {
			return
		}
	}
}

// Refs resolves the references of one type, in the order of types.Graph.Refs.
type Refs struct {
	t       *Types
	varying []Type // the varying references that Next has not returned yet
}

// Refs returns the references of a type.
func (t *Types) Refs(k Type) Refs { return Refs{t, t.VaryingRefs(k)} }

// Next returns the type that the next reference means. The parameter id is the node to which the
// shape refers there. Calls for references to void may be omitted.
func (w *Refs) Next(id types.ID) Type {
	if len(w.varying) == 0 || w.t.Fixed(id) {
		return w.t.Of(id)
	}
	k := w.varying[0]
	w.varying = w.varying[1:]
	return k
}

// Resolved returns a type's node and its elements, with the types that the references mean. The
// node has no hash.
func (t *Types) Resolved(k Type) (Node, []Elem) {
	n, refs := t.Node(k), t.Refs(k)
	made := Node{Kind: n.Kind, Flag: n.Flag, Name: n.Name, Size: n.Size, Aux: n.Aux,
		Ref: refs.Next(n.Ref)}
	elems := make([]Elem, 0, n.Count)
	for _, e := range t.Shapes.Graph.ElemsOf(n) {
		elems = append(elems, Elem{Name: e.Name, Ref: refs.Next(e.Ref), Val: e.Val})
	}
	return made, elems
}

// RefOf returns the type to which a type refers through Node.Ref.
func (t *Types) RefOf(k Type) Type {
	w := t.Refs(k)
	return w.Next(t.Node(k).Ref)
}

// VaryingRefs returns those references of a type that are variants, in order.
func (t *Types) VaryingRefs(k Type) []Type {
	if v := t.variants.at(k); v != nil {
		return t.variants.refsOf(v)
	}
	return nil
}

// In returns the type that a shape resolves to in a unit that holds the shape.
func (u *Units) In(unit int, id types.ID) Type {
	if u.r.Fixed(id) {
		return typeOf(id)
	}
	return u.made.in(u.made.g.enter(u.r.of[unit]), id)
}

// In returns the functions and variables of a linked unit, with their types in the unit.
func (t *Candidates) In(unit int) iter.Seq2[types.ID, Type] {
	return func(yield func(types.ID, Type) bool) {
		varying := 0
		for _, id := range t.Held.CandidatesOf(unit) {
			k := typeOf(id)
			if !t.Fixed(id) {
				k = t.candidates[unit][varying]
				varying++
			}
			if !yield(id, k) {
				return
			}
		}
	}
}

// Attached returns the declaration tags or the sections that units hold, and the references of
// each. A declaration tag or section that varies is returned once for each unit that holds it.
func (t *Candidates) Attached(kind types.Kind) iter.Seq2[types.ID, Refs] {
	list := t.Held.DeclTags
	if kind == types.KindDatasec {
		list = t.Held.Sections
	}
	return func(yield func(types.ID, Refs) bool) {
		for _, id := range list {
			if t.Shapes.Weight[id] != 0 && t.Fixed(id) && !yield(id, Refs{t: t.Types}) {
				return
			}
		}
		for _, a := range t.attached {
			if t.Shapes.Kinds[a.node] == kind && !yield(a.node, Refs{t.Types, a.refs}) {
				return
			}
		}
	}
}

// Holder is a function or variable that some units hold, with its type in these units.
type Holder struct {
	Type    Type
	Ref     Type   // the variable's type or the function's prototype
	Weight  uint64 // how many units hold it as a candidate
	Size    uint32 // of a function: its flags; of a variable: its size in bytes
	FromBTF bool   // it is in BTF that is already linked
}

// Holders appends the functions or variables with this name that units hold.
func (t *Candidates) Holders(kind types.Kind, name types.Str, into []Holder) []Holder {
	list := &t.Held.Functions
	if kind == types.KindVar {
		list = &t.Held.Variables
	}
	varies := false
	for c := range list.Of(name) {
		switch weight := t.Shapes.Weight[c.Node]; {
		case !t.Fixed(c.Node):
			varies = true
		case weight != 0:
			linked := t.Held.LinkedWeight != nil && t.Held.LinkedWeight[c.Node] != 0
			into = append(into, Holder{typeOf(c.Node), t.Of(c.Ref), weight, c.Size, linked})
		}
	}
	if varies {
		for _, k := range t.byName[name] {
			v := t.variants.at(k)
			if n := &t.Shapes.Nodes[v.node]; n.Kind == kind {
				into = append(into, Holder{k, t.RefOf(k), v.weight, n.Size, v.linked})
			}
		}
	}
	return into
}
