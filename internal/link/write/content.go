package write

import (
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/refine"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Types of equal name and kind are ordered by content. The content of a type that leads only to
// tags with one meaning in the result is that of its shape. The others are ambiguous: they are
// coloured by refinement once more, over the result alone. So the order is a function of the
// result, and linking it again gives the same.

// findContents fills in contents.
func (w *writer) findContents() {
	w.contents = map[Type]types.Hash{}
	var variants []Type // those that are kept
	for k := range w.Variants {
		if w.keep[k] {
			variants = append(variants, k)
		}
	}
	ambiguous := w.ambiguous(variants)
	at := map[Type]int32{} // the ambiguous ones that are written: their number in the partition
	var list []Type
	for _, k := range variants {
		w.contents[k] = w.PlainShape(w.Shape(k))
		if id := w.BaseID(k); ambiguous[k] && id != 0 {
			w.contents[k] = base.IDHash(id)
		} else if ambiguous[k] {
			at[k] = int32(len(list))
			list = append(list, k)
		}
	}
	g := refine.Graph{First: []uint32{0}}
	for _, k := range list {
		g.Initial = append(g.Initial, w.contents[k])
		g.Labels = append(g.Labels, w.label(k, ambiguous))
		for _, r := range w.VaryingRefs(k) {
			if !ambiguous[r] {
				continue
			}
			if n, ok := at[r]; ok {
				g.Refs = append(g.Refs, n)
			} else {
				g.Refs = append(g.Refs, ^int32(len(g.Outside)))
				g.Outside = append(g.Outside, w.contents[r])
			}
		}
		g.First = append(g.First, uint32(len(g.Refs)))
	}
	for i, colour := range g.Colours() {
		w.contents[list[i]] = colour
	}
}

// ambiguous finds the variants that lead to a tag that means several things in the result, and
// those that have the shape of another variant. What definitions of the base lead to does not
// matter.
func (w *writer) ambiguous(variants []Type) map[Type]bool {
	meanings := map[int32]int{}     // by tag: how many definitions and forward declarations there are
	ofShape := map[types.Hash]int{} // by shape: how many variants there are
	for _, k := range variants {
		ofShape[w.PlainShape(w.Shape(k))]++
		if t := w.Tags.Of(w.Shape(k)); t >= 0 {
			meanings[t]++
		}
	}
	found := map[Type]bool{}
	for _, k := range variants {
		t := w.Tags.Of(w.Shape(k))
		if t >= 0 && meanings[t] > 1 || ofShape[w.PlainShape(w.Shape(k))] > 1 {
			found[k] = true
		}
	}
	for changed := true; changed; {
		changed = false
		for _, k := range variants {
			leads := slices.ContainsFunc(w.VaryingRefs(k), func(r Type) bool { return found[r] })
			if leads && !found[k] {
				found[k], changed = true, true
			}
		}
	}
	return found
}

// placeholder stands in a label for a reference to an ambiguous variant.
var placeholder = types.Hash{A: 1, B: 1}

// label is the content of a variant's shape apart from what ambiguous variants in it are.
func (w *writer) label(k Type, ambiguous map[Type]bool) types.Hash {
	refs := w.VaryingRefs(k)
	n := w.Node(k)
	return w.Graph.HashWith(n, w.Graph.ElemsOf(n), func(id types.ID) types.Hash {
		if w.Fixed(id) {
			return w.Nodes[id].Hash
		}
		r := refs[0]
		refs = refs[1:]
		if ambiguous[r] {
			return placeholder
		}
		return w.PlainShape(id)
	})
}

// content returns the content of a kept type for the order. Made types refer to types that were
// made before them, or that were not made: the longest chain is a declaration tag on a function
// with an arena pointer.
func (w *writer) content(k Type) types.Hash {
	if m := w.made.At(k); m != nil {
		return w.Graph.HashWith(m, w.made.Elems(m), func(id types.ID) types.Hash {
			return w.content(Type(id))
		})
	}
	switch id := w.BaseID(k); {
	case id != 0:
		return base.IDHash(id)
	case w.IsVariant(k):
		return w.contents[k]
	}
	return w.Nodes[k].Hash
}
