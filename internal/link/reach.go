package link

import "github.com/rules-btf/rules_btf/internal/types"

// made is a type that the link makes or changes: functions, variables and their sections,
// declaration tags.
type made struct {
	kind  types.Kind
	flag  bool
	name  types.Str
	size  uint32
	aux   uint32 // as in types.Node
	ref   final
	elems uint32 // if it has some: their index in linker.madeElems + 1
}

type madeElem struct {
	name types.Str
	ref  final
	val  uint64
}

// make adds a made type.
func (l *linker) make(m made, elems ...madeElem) final {
	if len(elems) > 0 {
		l.madeElems = append(l.madeElems, elems)
		m.elems = uint32(len(l.madeElems))
	}
	l.made = append(l.made, m)
	return l.madeFinal(len(l.made) - 1)
}

func (l *linker) madeFinal(i int) final { return final(len(l.nodes) + len(l.inst.list) + i) }

// madeAt returns the made type of f, nil if it is none.
func (l *linker) madeAt(f final) *made {
	if i := int(f) - len(l.nodes) - len(l.inst.list); i >= 0 {
		return &l.made[i]
	}
	return nil
}

// elemsOf returns the elements of a made type.
func (l *linker) elemsOf(m *made) []madeElem {
	if m.elems == 0 {
		return nil
	}
	return l.madeElems[m.elems-1]
}

// nodeOf returns the shape of a type that is not made.
func (l *linker) nodeOf(f final) types.ID {
	if int(f) < len(l.nodes) {
		return types.ID(f)
	}
	return l.inst.list[int(f)-len(l.nodes)].node
}

// findTypes notes which type each shape is that doesn't vary: a stub is its tag's definition, if
// there is one.
func (l *linker) findTypes() {
	l.types = make([]final, len(l.nodes))
	for id := range l.types {
		l.types[id] = final(id)
	}
	for i := range l.tags.list {
		if t := &l.tags.list[i]; t.stub != 0 && t.def != 0 && l.role[t.stub] == plain {
			l.types[t.stub] = final(t.def)
		}
	}
}

// walker resolves the references of one type in order.
type walker struct {
	l    *linker
	args []uint32
}

func (l *linker) walk(f final) walker {
	w := walker{l: l}
	if i := int(f) - len(l.nodes); i >= 0 {
		t := &l.inst.list[i]
		w.args = l.inst.args[t.arg : t.arg+t.args]
	}
	return w
}

// next resolves the next reference, in the order Ref, index type, elements; void ones may be left
// out.
func (w *walker) next(id types.ID) final {
	if len(w.args) == 0 || w.l.role[id] == plain {
		return w.l.types[id]
	}
	f := w.l.instFinal(w.args[0])
	w.args = w.args[1:]
	return f
}

// refTo returns the type that f's Ref is; f is not made.
func (l *linker) refTo(f final) final {
	if int(f) < len(l.nodes) {
		return l.types[l.nodes[f].Ref]
	}
	w := l.walk(f)
	return w.next(l.nodes[l.nodeOf(f)].Ref)
}

// keepAll finds what the result holds: the roots that units hold, what is made, and what these
// reach. Each gets its place: see place.
//
// A shape that doesn't vary refers to earlier ones, but for the definitions that stubs stand for.
// So it takes one walk from the last shape to the first, in the order of memory, and a list of
// those that it met too late.
func (l *linker) keepAll() {
	l.keep = make([]bool, len(l.nodes)+len(l.inst.list)+len(l.made))
	l.keep[0] = true // void takes no place
	l.ids = make([]uint32, len(l.keep))
	l.places = newPlaces(len(l.keep), l.g.Strs.Len(), &l.seen.unnamed)
	var later []final // instances, and then shapes that the walk has passed
	at := types.ID(len(l.nodes))
	add := func(f final) {
		if !l.keep[f] {
			l.keep[f] = true
			if int(f) >= int(at) {
				later = append(later, f)
			}
		}
	}
	rest := func() {
		for len(later) > 0 {
			f := later[len(later)-1]
			later = later[:len(later)-1]
			l.keepType(f, add)
		}
	}
	for i := range l.made {
		l.keep[l.madeFinal(i)] = true
	}
	for i := range l.made {
		m := &l.made[i]
		elems := l.elemsOf(m)
		l.places.addMade(l.madeFinal(i), m, elems)
		add(m.ref)
		for _, e := range elems {
			add(e.ref)
		}
	}
	for i := range l.inst.list {
		if t := &l.inst.list[i]; t.root && matchable(l.nodes[t.node].Kind) {
			add(l.instFinal(uint32(i)))
		}
	}
	rest()
	for at--; at > 0; at-- {
		if !l.keep[at] {
			if l.weight[at] == 0 || l.role[at] != plain || !matchable(l.nodes[at].Kind) {
				continue
			}
			if f := l.types[at]; f != final(at) {
				add(f)
				continue
			}
			l.keep[at] = true
		}
		l.keepType(final(at), add)
	}
	rest()
}

// keepType gives a kept type that isn't made its place, and adds what it refers to.
func (l *linker) keepType(f final, add func(final)) {
	if id := l.baseID(f); id != 0 {
		l.ids[f] = id
		return
	}
	n := &l.nodes[l.nodeOf(f)]
	elems := l.g.Elems[n.First : n.First+n.Count]
	l.places.add(f, n, elems)
	switch n.Kind {
	case types.KindStub:
		return
	case types.KindEnum, types.KindEnum64:
		elems = nil
	}
	w := l.walk(f)
	add(w.next(n.Ref))
	for i := range elems {
		if r := w.next(elems[i].Ref); !l.keep[r] {
			add(r)
		}
	}
}
