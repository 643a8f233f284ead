package write

import (
	"github.com/rules-btf/rules_btf/internal/link/resolve"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// keepAll finds the types of the result: the types that units hold by name (unless OnlyMade is
// set), the made types, and all types to which these lead. Each gets a place.
//
// A fixed shape refers only to earlier shapes, except through stubs, which may mean later
// definitions. So one walk through the shapes in memory order, from the last to the first, finds
// nearly all types. Shapes that are reached after the walk has passed them are listed for later.
// Rule: types that are kept.
func (w *writer) keepAll() {
	w.keep = make([]bool, w.types.Len()+w.made.Len())
	w.keep[0] = true // void takes no place
	w.ids = make([]uint32, len(w.keep))
	w.places = newPlaces(len(w.keep), w.shapes.Graph.Strs.Len(), &w.shapes.Anonymous)
	var later []Type // variants, and then shapes that the walk has passed
	at := Type(len(w.shapes.Nodes))
	add := func(k Type) {
		if !w.keep[k] {
			w.keep[k] = true
			if k >= at {
				later = append(later, k)
			}
		}
	}
	rest := func() {
		for len(later) > 0 {
			k := later[len(later)-1]
			later = later[:len(later)-1]
			w.keepType(k, add)
		}
	}
	waits := func(m *resolve.Node) bool { // until it is known which targets are kept
		return w.opt.OnlyMade && m.Kind == types.KindDeclTag && !w.made.IsMade(m.Ref)
	}
	for k := w.types.Len(); k < len(w.keep); k++ {
		w.keep[k] = true
	}
	for k, m := range w.made.Made {
		if waits(&m) {
			w.keep[k] = false // nothing refers to it
			continue
		}
		elems := w.made.Elems(&m)
		addPlace(&w.places, k, &m, elems)
		add(m.Ref)
		for _, e := range elems {
			add(e.Ref)
		}
	}
	for k, root := range w.types.Variants {
		if root && !w.opt.OnlyMade && isType(w.types.Node(k).Kind) && w.types.BaseID(k) == 0 {
			add(k)
		}
	}
	rest()
	for at--; at > 0; at-- {
		if !w.keep[at] {
			id := w.types.Shape(at)
			if w.opt.OnlyMade || w.shapes.Weight[id] == 0 || !w.types.Fixed(id) ||
				!isType(w.shapes.Kinds[id]) {
				continue
			}
			if k := w.types.Of(id); k != at {
				add(k)
				continue
			}
			w.keep[at] = true
		}
		w.keepType(at, add)
	}
	rest()
	for k, m := range w.made.Made {
		if waits(&m) && w.keep[m.Ref] {
			w.keep[k] = true
			addPlace(&w.places, k, &m, nil)
		}
	}
}

// isType reports whether a kind is a kind of type. Functions, variables, sections and declaration
// tags aren't types: they are written only if package decide made them.
func isType(k types.Kind) bool {
	switch k {
	case types.KindFunc, types.KindVar, types.KindDatasec, types.KindDeclTag:
		return false
	}
	return true
}

// keepType gives a place to a kept type that isn't a made type, and adds what it refers to.
func (w *writer) keepType(k Type, add func(Type)) {
	if id := w.types.BaseID(k); id != 0 {
		w.ids[k] = id
		return
	}
	n := w.types.Node(k)
	elems := w.shapes.Graph.ElemsOf(n)
	addPlace(&w.places, k, n, elems)
	switch n.Kind {
	case types.KindStub:
		return
	case types.KindEnum, types.KindEnum64:
		elems = nil
	}
	refs := w.types.Refs(k)
	add(refs.Next(n.Ref))
	for i := range elems {
		if r := refs.Next(elems[i].Ref); !w.keep[r] {
			add(r)
		}
	}
}

// node returns the node of a type and its elements.
func (w *writer) node(k Type) (resolve.Node, []resolve.Elem) {
	if w.made.IsMade(k) {
		m := w.made.At(k)
		return m, w.made.Elems(&m)
	}
	return w.types.Resolved(k)
}
