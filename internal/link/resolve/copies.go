package resolve

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Copies finds the units that are BTFs of the base: split BTF as an input brings its base along.
// It returns the units with these emptied, which of them they are (nil for none), and what they
// held. The units given stay as they are.
func Copies(g *types.Graph, units []object.Unit, b base.Base) (rest []object.Unit, is []bool,
	held [][]types.ID) {
	linked := func(u object.Unit) bool { return u.FromBTF }
	if b == nil || !slices.ContainsFunc(units, linked) {
		return units, nil, nil
	}
	shapes := g.Unpinned()
	layers := b.Layers()
	rest, is = slices.Clone(units), make([]bool, len(units))
	for i := range rest {
		u := &rest[i]
		if !u.FromBTF {
			continue
		}
		list := make([]types.Hash, len(u.Items))
		for j, id := range u.Items {
			list[j] = shapes[id]
		}
		if slices.Contains(layers, base.Digest(list)) {
			held = append(held, u.Items)
			u.Items, is[i] = nil, true
		}
	}
	return rest, is, held
}
