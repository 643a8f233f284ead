package convert

import (
	std "debug/dwarf"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// peel follows typedefs, qualifiers and _Atomic from t to the first other type, and reads that
// type's entry into e. If that entry only refers to a type unit (DW_AT_signature), the result is
// the definition there. The result is void if the chain ends at void.
func (t typeRef) peel(e *dwarf.DIE) (typeRef, error) {
	for range types.MaxDepth {
		if t.u == nil {
			return t, nil
		}
		if err := t.u.r.Read(t.off, e); err != nil {
			return t, err
		}
		next := dwarf.Type
		switch e.Tag {
		case std.TagTypedef, std.TagConstType, std.TagVolatileType, std.TagRestrictType,
			std.TagAtomicType:
		default:
			if !e.Has(dwarf.Signature) {
				return t, nil
			}
			next = dwarf.Signature
		}
		var err error
		if t, err = t.u.ref(e, next); err != nil {
			return t, err
		}
	}
	return typeRef{}, nil
}
