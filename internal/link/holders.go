package link

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/resolve"
	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/link/write"
)

// Linked is a result of Link that still knows which unit holds which of its types.
type Linked struct {
	*Result
	copied  []bool // by unit: it is a base that split BTF brought along; nil if none is
	types   *resolve.Types
	written *write.Written
}

// Holders returns the units that hold a type of the result by its name, as ascending indexes in the
// object's Units, for each BTF id that want is true for. Types that are held so are base types,
// typedefs and definitions of tags; a unit that only declares a tag doesn't hold it. Ids are of the
// result or its bases.
func (l *Linked) Holders(want func(id uint32) bool) map[uint32][]int {
	all := l.types
	holders := map[uint32][]int{}
	for u := range all.Units {
		if !all.Selected[u] {
			continue
		}
		for _, node := range all.Units[u].Items {
			if !survey.Named(&all.Nodes[node]) {
				continue
			}
			id := l.written.ID(all.In(u, node))
			if want(id) && !slices.Contains(holders[id][max(0, len(holders[id])-1):], u) {
				holders[id] = append(holders[id], u)
			}
		}
	}
	return holders
}

// IsBase reports whether the unit with an index in the object's Units is one of the bases: split
// BTF brings them along.
func (l *Linked) IsBase(u int) bool { return l.copied != nil && l.copied[u] }
