package shared

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// shape returns the hash of a type's shape; for a forward declaration that of the stub. The shapes
// of the types that it contains must be there.
func (m *module) shape(id uint32) (types.Hash, error) {
	t := &m.Types[id-m.StartID]
	if declares(t) {
		name, err := m.name(t.NameOff)
		return types.HashStub(tagOf(t), name), err
	}
	var failed error
	name := func(off uint32) types.Hash {
		h, err := m.name(off)
		if err != nil && failed == nil {
			failed = err
		}
		return h
	}
	ref := func(id uint32) types.Hash {
		h, err := m.ref(id)
		if err != nil && failed == nil {
			failed = err
		}
		return h
	}
	sum := hashRecord(m.Blob, t, name, ref)
	return sum, failed
}

// hashRecord hashes the content of a type record of b, in which name and ref hash names and the
// types that it refers to.
func hashRecord(b *btf.Blob, t *btf.Type, name, ref func(uint32) types.Hash) types.Hash {
	kind := types.Kind(t.Kind)
	if t.Kind.HasType() {
		h := types.Start(kind, 0, t.Extra, name(t.NameOff), ref(t.SizeOrType))
		if t.Kind == btf.KindFuncProto {
			for _, p := range b.ParamsOf(t) {
				h.Elem(name(p.NameOff), ref(p.Type), 0)
			}
		}
		return h.Sum(t.KFlag)
	}
	h := types.Start(kind, t.SizeOrType, t.Extra, name(t.NameOff), types.Hash{})
	switch t.Kind {
	case btf.KindArray:
		a := b.ArrayOf(t)
		h.Elem(types.Hash{}, ref(a.Elem), uint64(a.Nelems))
		h.Elem(types.Hash{}, ref(a.Index), 0)
	case btf.KindStruct, btf.KindUnion:
		for _, e := range b.MembersOf(t) {
			h.Elem(name(e.NameOff), ref(e.Type), uint64(e.Offset))
		}
	case btf.KindEnum, btf.KindEnum64:
		for _, e := range b.EnumsOf(t) {
			h.Elem(name(e.NameOff), types.Hash{}, e.Value)
		}
	}
	return h.Sum(t.KFlag)
}
