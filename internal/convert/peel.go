package convert

import (
	std "debug/dwarf"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// peel follows typedefs, qualifiers and _Atomic from t to the first other type, and reads that
// type's entry into e. The result is void if the chain ends at void.
func (t typeRef) peel(e *dwarf.DIE) (typeRef, error) {
	for range types.MaxDepth {
		if t.u == nil {
			return t, nil
		}
		if err := t.u.r.Read(t.off, e); err != nil {
			return t, err
		}
		switch e.Tag {
		case std.TagTypedef, std.TagConstType, std.TagVolatileType, std.TagRestrictType,
			std.TagAtomicType:
		default:
			return t, nil
		}
		var err error
		if t, err = t.u.ref(e, dwarf.Type); err != nil {
			return t, err
		}
	}
	return typeRef{}, nil
}
