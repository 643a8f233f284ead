package link

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/survey"
	"github.com/rules-btf/rules_btf/internal/object"
)

// Traced is a result of Link that still knows which unit holds which of its types.
type Traced struct {
	*Result
	l *linked
}

// Trace is Link of one object.
func Trace(o *object.Object, opt Options) (*Traced, error) {
	l, res, err := link(o, opt)
	if err != nil {
		return nil, err
	}
	return &Traced{res, l}, nil
}

// Holders returns the units that hold a type of the result by its name, as ascending indexes in the
// object's Units, for each BTF id that want is true for. Types that are held so are base types,
// typedefs and definitions of tags; a unit that only declares a tag doesn't hold it. Ids are of the
// result or its bases.
func (t *Traced) Holders(want func(id uint32) bool) map[uint32][]int {
	all := t.l.types
	found := map[uint32][]int{}
	for u := range all.Units {
		if !all.Selected[u] {
			continue
		}
		for _, node := range all.Units[u].Items {
			if !survey.Named(&all.Nodes[node]) {
				continue
			}
			id := t.l.written.ID(all.In(u, node))
			if want(id) && !slices.Contains(found[id][max(0, len(found[id])-1):], u) {
				found[id] = append(found[id], u)
			}
		}
	}
	return found
}

// IsBase tells whether the unit with an index in the object's Units is one of the bases: split BTF
// brings them along.
func (t *Traced) IsBase(u int) bool { return t.l.copied != nil && t.l.copied[u] }
