package link

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/resolve"
	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/link/write"
)

// Traced is a result of Link that still knows which unit holds which of its types.
type Traced struct {
	*Result
	copied  []bool // by unit: it is a base that split BTF brought along; nil if none is
	types   *resolve.Types
	written *write.Written
}

// Holders returns the units that hold a type of the result by its name, as ascending indexes in the
// object's Units, for each BTF id that want is true for. Types that are held so are base types,
// typedefs and definitions of tags; a unit that only declares a tag doesn't hold it. Ids are of the
// result or its bases.
func (t *Traced) Holders(want func(id uint32) bool) map[uint32][]int {
	all := t.types
	found := map[uint32][]int{}
	for u := range all.Units {
		if !all.Selected[u] {
			continue
		}
		for _, node := range all.Units[u].Items {
			if !survey.Named(&all.Nodes[node]) {
				continue
			}
			id := t.written.ID(all.In(u, node))
			if want(id) && !slices.Contains(found[id][max(0, len(found[id])-1):], u) {
				found[id] = append(found[id], u)
			}
		}
	}
	return found
}

// IsBase reports whether the unit with an index in the object's Units is one of the bases: split
// BTF brings them along.
func (t *Traced) IsBase(u int) bool { return t.copied != nil && t.copied[u] }
