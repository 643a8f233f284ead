package link

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/object"
	"github.com/rules-btf/rules_btf/internal/types"
)

// Traced is a result of Link that still knows which unit holds which of its types.
type Traced struct {
	*Result
	l *linker
}

// Trace is Link of one object.
func Trace(o *object.Object, opt Options) (*Traced, error) {
	l, res, err := run([]*object.Object{o}, opt)
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
	l := t.l
	found := map[uint32][]int{}
	var v *view
	if len(l.worlds) > 0 {
		v = l.view()
	}
	for u := range l.units {
		if !l.selected[u] {
			continue
		}
		entered := false
		for _, id := range l.units[u].Items {
			if !named(&l.nodes[id]) {
				continue
			}
			f := final(id)
			if l.role[id] != plain {
				if !entered {
					l.enterPhase(v, l.settled, l.worldOf[u])
					entered = true
				}
				f = l.instFinal(l.instanceIn(v, id))
			}
			if out := l.idOf(f); want(out) && !slices.Contains(found[out][max(0, len(found[out])-1):], u) {
				found[out] = append(found[out], u)
			}
		}
	}
	return found
}

// IsBase tells whether the unit with an index in the object's Units is one of the bases: split BTF
// brings them along.
func (t *Traced) IsBase(u int) bool { return t.l.isBase != nil && t.l.isBase[u] }

// named tells whether units hold a shape by its name.
func named(n *types.Node) bool {
	switch n.Kind {
	case types.KindInt, types.KindFloat, types.KindTypedef:
		return n.Name != 0
	}
	return n.IsDefinition()
}

// idOf returns the BTF id of a type that the result or a base has, 0 for none.
func (l *linker) idOf(f final) uint32 {
	if id := l.baseID(f); id != 0 {
		return id
	}
	return l.ids[f]
}
