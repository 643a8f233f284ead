package object

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// shaper adds the shapes of type records to the graph of these records.
type shaper struct {
	*records
	ids []types.ID // by BTF id: the node; for a declaration, the stub
	// pin returns the pin of a reference, if it has one. The parameter id is the referring type,
	// ref is the index of the reference in it, and target is the definition that the reference names.
	pin func(id, ref, target uint32) (types.Hash, bool)
	// sizes are Node.Size of FUNCs and VARs, by id; nil means that all are 0.
	sizes []uint32

	pinned []pinnedStub
}

// ModifiersError is the error for a chain of more than btf.MaxModifiers modifiers.
type ModifiersError struct{ error }

// pinnedStub is a stub whose definition is not added yet.
type pinnedStub struct {
	stub types.ID
	def  uint32 // BTF id
}

// The references of a type have these numbers.
const (
	ownRef  = 0 // Node.Ref
	elemRef = 1 // elemRef+i: the reference of element i
)

// shape adds each type in order (children first), unless s.ids already has its node.
func (s *shaper) shape(order []uint32) error {
	if s.ids == nil {
		s.ids = make([]types.ID, s.end)
	}
	var elems []types.Elem
	for _, id := range order {
		if s.ids[id] != 0 {
			continue
		}
		t, l := s.at(id)
		name, err := s.name(t.NameOff)
		if err != nil {
			return err
		}
		if tag := s.declared(t); tag != 0 {
			if name == 0 {
				return damagedType(id, t, "declares nothing: it has no name")
			}
			s.ids[id] = s.g.Stub(tag, name)
			continue
		}
		size, aux, ref := Head(l.Blob, t)
		if t.Kind == btf.KindFunc && aux > types.LinkageExtern {
			return damagedType(id, t, "unknown linkage %d (only 0 to 2 are known)", aux)
		}
		if s.sizes != nil {
			size += s.sizes[id]
		}
		elems = elems[:0]
		for i := range Elements(t) {
			nameOff, ref, val := Element(l.Blob, t, i)
			name, err := s.name(nameOff)
			if err != nil {
				return err
			}
			elems = append(elems, types.Elem{Name: name, Ref: s.ref(t, id, elemRef+i, ref), Val: val})
		}
		n := types.Node{Kind: types.Kind(t.Kind), Flag: t.KFlag, Name: name, Size: size, Aux: aux,
			Ref: s.ref(t, id, ownRef, ref)}
		s.ids[id] = s.g.Add(n, elems)
	}
	for _, p := range s.pinned {
		if err := s.g.Define(p.stub, s.ids[p.def]); err != nil {
			return err
		}
	}
	for _, id := range order {
		t, _ := s.at(id)
		if !t.Kind.IsModifier() {
			continue
		}
		if _, n := s.g.SkipModifiers(s.ids[id]); n > btf.MaxModifiers {
			name, _ := s.name(t.NameOff)
			return &ModifiersError{typeError(id, t, "%q begins a chain of more than %d typedefs and "+
				"qualifiers, which the kernel refuses", s.g.Strs.Bytes(name), btf.MaxModifiers)}
		}
	}
	return nil
}

// ref returns the node for reference number ref, from the type with this id and record t to target.
func (s *shaper) ref(t *btf.Type, id, ref, target uint32) types.ID {
	if target == 0 {
		return 0
	}
	if !s.crosses(t, target) {
		return s.ids[target]
	}
	c, _ := s.at(target)
	name, _ := s.name(c.NameOff) // shape reports the error when it adds target
	if tag := s.declared(c); tag != 0 {
		return s.g.Stub(tag, name)
	}
	tag := types.TagOf(types.Kind(c.Kind))
	if tag == 0 {
		tag = types.TagTypedef
	}
	pin, ok := s.pin(id, ref, target)
	if !ok {
		return s.g.Stub(tag, name)
	}
	stub := s.g.PinnedStub(tag, name, pin)
	s.pinned = append(s.pinned, pinnedStub{stub, target})
	return stub
}
