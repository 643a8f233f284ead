package shared

import (
	"github.com/rules-btf/rules_btf/internal/model/object"
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
	keepError := func(hash func(uint32) (types.Hash, error)) func(uint32) types.Hash {
		return func(n uint32) types.Hash {
			h, err := hash(n)
			if failed == nil {
				failed = err
			}
			return h
		}
	}
	sum := object.HashRecord(m.Blob, t, keepError(m.name), keepError(m.ref))
	return sum, failed
}
