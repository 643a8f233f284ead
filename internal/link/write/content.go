package write

import (
	"maps"
	"slices"

	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/refine"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// findContents finds the content by which types are ordered: anonymous types by kind and content,
// then named types by name, kind and content (order.go). Content is a hash that includes no ids, so
// it doesn't depend on the order of the inputs. If all tags to which a type leads have one meaning
// in the result, the type's content is that of its shape. Other types are ambiguous. Their content
// comes from a further partition refinement, which looks only at the result. So the order is a
// function of the result, and linking the result again gives the same order.

// Rule: order of the types, ids. Of types with the same name and kind.
func (w *writer) findContents() {
	w.contents = map[Type]types.Hash{}
	var variants []Type // the kept variants
	for k := range w.types.Variants {
		if w.keep[k] {
			variants = append(variants, k)
		}
	}
	ambiguous := w.ambiguous(variants)
	at := map[Type]int32{} // by ambiguous variant that is written: its number in the partition
	var list []Type
	for _, k := range variants {
		w.contents[k] = w.types.PlainShape(w.types.Shape(k))
		if id := w.types.BaseID(k); ambiguous[k] && id != 0 {
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
		for _, r := range w.types.VaryingRefs(k) {
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

// ambiguous finds the variants that lead to a tag with several meanings in the result, or that
// share their shape with another variant. References from the base's definitions don't matter.
func (w *writer) ambiguous(variants []Type) map[Type]bool {
	meanings := map[int32]int{}     // by tag: how many definitions and forward declarations there are
	ofShape := map[types.Hash]int{} // by shape: how many variants there are
	for _, k := range variants {
		ofShape[w.types.PlainShape(w.types.Shape(k))]++
		if t := w.shapes.Tags.Of(w.types.Shape(k)); t >= 0 {
			meanings[t]++
		}
	}
	found := map[Type]bool{}
	for _, k := range variants {
		t := w.shapes.Tags.Of(w.types.Shape(k))
		if t >= 0 && meanings[t] > 1 || ofShape[w.types.PlainShape(w.types.Shape(k))] > 1 {
			found[k] = true
		}
	}
	users := map[Type][]Type{} // by variant: the variants that refer to it
	for _, k := range variants {
		for _, r := range w.types.VaryingRefs(k) {
			users[r] = append(users[r], k)
		}
	}
	for work := slices.Collect(maps.Keys(found)); len(work) > 0; {
		k := work[len(work)-1]
		work = work[:len(work)-1]
		for _, u := range users[k] {
			if !found[u] {
				found[u] = true
				work = append(work, u)
			}
		}
	}
	return found
}

// placeholder takes the place of a reference to an ambiguous variant in a label.
var placeholder = types.Hash{A: 1, B: 1}

// label returns the content of a variant's shape, with placeholders for ambiguous variants.
func (w *writer) label(k Type, ambiguous map[Type]bool) types.Hash {
	refs := w.types.VaryingRefs(k)
	n := w.types.Node(k)
	return n.HashWith(&w.shapes.Graph.Strs, w.shapes.Graph.ElemsOf(n), func(id types.ID) types.Hash {
		if w.types.Fixed(id) {
			return w.shapes.Nodes[id].Hash
		}
		r := refs[0]
		refs = refs[1:]
		if ambiguous[r] {
			return placeholder
		}
		return w.types.PlainShape(id)
	})
}

// content returns the content by which a kept type is ordered. The references between made types
// have no cycles.
func (w *writer) content(k Type) types.Hash {
	if w.made.IsMade(k) {
		m := w.made.At(k)
		return m.HashWith(&w.shapes.Graph.Strs, w.made.Elems(&m), w.content)
	}
	switch id := w.types.BaseID(k); {
	case id != 0:
		return base.IDHash(id)
	case w.types.IsFixed(k):
		return w.types.Node(k).Hash
	}
	return w.contents[k]
}
