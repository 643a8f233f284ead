package object

import "github.com/rules-btf/rules_btf/internal/types"

// shaper adds the shapes of type records to their graph.
type shaper struct {
	*records
	ids []types.ID // by BTF id: the node; the stub for a declaration
	// pin returns the pin of the definition target if slot of type id means it exactly.
	pin func(id uint32, slot int, target uint32) (types.Hash, bool)
	// amend sets what a record does not hold: FuncFlags of a FUNC, the size of a VAR. It may be
	// nil.
	amend func(id uint32, n *types.Node)

	pinned []pinnedStub
}

// pinnedStub is a stub whose definition is not added yet.
type pinnedStub struct {
	stub types.ID
	def  uint32 // BTF id
}

// Slots of a type that may refer to a tag.
const (
	slotRef  = 0 // Ref
	slotElem = 1 // slotElem+i is element i
)

// shape adds records, given in an order in which children come first, and leaves out those that
// have an entry in ids.
func (s *shaper) shape(order []uint32) error {
	if s.ids == nil {
		s.ids = make([]types.ID, s.end)
	}
	var rec record
	for _, id := range order {
		if s.ids[id] != 0 {
			continue
		}
		t, _ := s.at(id)
		if tag := s.declared(t); tag != 0 {
			name, err := s.name(t.NameOff)
			if err != nil {
				return err
			}
			if name == 0 {
				return typeError(id, t, "declares nothing: it has no name")
			}
			s.ids[id] = s.g.Stub(tag, name)
			continue
		}
		if err := s.decode(id, &rec); err != nil {
			return err
		}
		rec.Ref = s.ref(id, slotRef, rec.Ref)
		for i := range rec.elems {
			e := &rec.elems[i]
			e.Ref = s.ref(id, slotElem+i, e.Ref)
		}
		if s.amend != nil {
			s.amend(id, &rec.Node)
		}
		s.ids[id] = s.g.Add(rec.Node, rec.elems)
	}
	for _, p := range s.pinned {
		if err := s.g.Define(p.stub, s.ids[p.def]); err != nil {
			return err
		}
	}
	return nil
}

// ref returns the node that slot of type id refers to, which is target in BTF.
func (s *shaper) ref(id uint32, slot int, target types.ID) types.ID {
	if target == 0 {
		return 0
	}
	t, _ := s.at(id)
	if !s.crosses(t, uint32(target)) {
		return s.ids[target]
	}
	c, _ := s.at(uint32(target))
	name, _ := s.name(c.NameOff) // its own record has been read, or will be
	if tag := s.declared(c); tag != 0 {
		return s.g.Stub(tag, name)
	}
	tag := types.TagOf(types.Kind(c.Kind))
	if tag == 0 {
		tag = types.TagTypedef
	}
	pin, ok := s.pin(id, slot, uint32(target))
	if !ok {
		return s.g.Stub(tag, name)
	}
	stub := s.g.PinnedStub(tag, name, pin)
	s.pinned = append(s.pinned, pinnedStub{stub, uint32(target)})
	return stub
}
