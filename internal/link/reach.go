package link

import "github.com/rules-btf/rules_btf/internal/types"

// made is a type that the link makes or changes: functions, variables and their sections, declaration tags.
type made struct {
	kind  types.Kind
	flag  bool
	name  types.Str
	size  uint32
	aux   uint32 // as in types.Node
	ref   final
	elems []madeElem
}

type madeElem struct {
	name types.Str
	ref  final
	val  uint64
}

// make adds a made type.
func (l *linker) make(m made) final {
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

// nodeOf returns the shape of a type that is not made.
func (l *linker) nodeOf(f final) types.ID {
	if int(f) < len(l.nodes) {
		return types.ID(f)
	}
	return l.inst.list[int(f)-len(l.nodes)].node
}

// typeOf returns the type that a shape which doesn't vary is: a stub's definition, if there is one.
func (l *linker) typeOf(id types.ID) final {
	if l.nodes[id].Kind == types.KindStub {
		if d := l.tags.list[l.tags.of[id]].def; d != 0 {
			return final(d)
		}
	}
	return final(id)
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

// next resolves the next reference, in the order Ref, index type, elements; void ones may be left out.
func (w *walker) next(id types.ID) final {
	if id == 0 {
		return 0
	}
	if w.l.role[id] == plain {
		return w.l.typeOf(id)
	}
	f := final(uint32(len(w.l.nodes)) + w.args[0])
	w.args = w.args[1:]
	return f
}

// refTo returns the type that f's Ref is; f is not made.
func (l *linker) refTo(f final) final {
	w := l.walk(f)
	return w.next(l.nodes[l.nodeOf(f)].Ref)
}

// keepAll marks what the result holds: the roots that units hold, what is made, and what these reach.
func (l *linker) keepAll() {
	l.keep = make([]bool, len(l.nodes)+len(l.inst.list)+len(l.made))
	var work []final
	add := func(f final) {
		if f != 0 && !l.keep[f] {
			l.keep[f] = true
			work = append(work, f)
		}
	}
	for i := range l.made {
		m := &l.made[i]
		l.keep[l.madeFinal(i)] = true
		add(m.ref)
		for _, e := range m.elems {
			add(e.ref)
		}
	}
	for id := 1; id < len(l.nodes); id++ {
		if l.weight[id] != 0 && l.role[id] == plain && matchable(l.nodes[id].Kind) {
			add(l.typeOf(types.ID(id)))
		}
	}
	for i := range l.inst.list {
		if t := &l.inst.list[i]; t.root && matchable(l.nodes[t.node].Kind) {
			add(final(len(l.nodes) + i))
		}
	}
	for len(work) > 0 {
		f := work[len(work)-1]
		work = work[:len(work)-1]
		if l.madeAt(f) != nil || l.baseID(f) != 0 {
			continue
		}
		n := &l.nodes[l.nodeOf(f)]
		if n.Kind == types.KindStub {
			continue
		}
		w := l.walk(f)
		add(w.next(n.Ref))
		if n.Kind == types.KindArray {
			add(w.next(types.ID(n.Aux)))
		}
		if n.Kind == types.KindEnum || n.Kind == types.KindEnum64 {
			continue
		}
		for _, e := range l.g.Elems[n.First : n.First+n.Count] {
			add(w.next(e.Ref))
		}
	}
}
