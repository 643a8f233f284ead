package link

import "github.com/rules-btf/rules_btf/internal/types"

// The order of types of equal name and kind is by content. The content of a type that leads to a
// tag with one definition in the result is that of its shape. The others are coloured by refinement
// once more, over the result alone, so that the order is a function of the result: linking it again
// gives the same.

// colourInstances gives the kept instances their place among equals: l.hashes.
func (l *linker) colourInstances() {
	n := len(l.inst.list)
	if n == 0 {
		return
	}
	ambiguous := l.ambiguous()
	now, old := make([]types.Hash, n), make([]types.Hash, n)
	var list []int32 // the ambiguous ones that are written
	for i := range now {
		f := final(len(l.nodes) + i)
		switch id := l.baseID(f); {
		case !l.keep[f]:
		case id != 0:
			now[i] = idHash(id)
		default:
			now[i] = l.unpinned(l.inst.list[i].node)
			if ambiguous[i] {
				list = append(list, int32(i))
			}
		}
	}
	labels := make([]types.Hash, len(list))
	for k, i := range list {
		labels[k] = l.ambiguousLabel(i, ambiguous)
	}
	copy(old, now)
	count := newCounter(len(list))
	row := make([]types.Hash, len(list))
	for classes := 0; ; {
		now, old = old, now
		for k, i := range list {
			t := &l.inst.list[i]
			h := types.Start(types.KindVoid, 0, 0, labels[k], types.Hash{})
			for _, a := range l.inst.args[t.arg : t.arg+t.args] {
				if ambiguous[a] {
					h.Elem(types.Hash{}, old[a], 0)
				}
			}
			now[i] = h.Sum(false)
		}
		for k, i := range list {
			row[k] = now[i]
		}
		c := count.distinct(row)
		if c <= classes || c == len(list) {
			break
		}
		classes = c
	}
	l.hashes = now
}

// idHash is the content of a type that a base has.
func idHash(id uint32) types.Hash {
	h := types.Start(types.KindVoid, id, 1, types.Hash{}, types.Hash{})
	return h.Sum(true)
}

// ambiguous finds the kept instances that lead to a tag with several definitions in the result, or
// to a type of a base.
func (l *linker) ambiguous() []bool {
	kept := make([]uint8, len(l.tags.list))
	out := make([]bool, len(l.inst.list))
	each := func(f func(i int, node types.ID)) {
		for i := range l.inst.list {
			if l.keep[len(l.nodes)+i] {
				f(i, l.inst.list[i].node)
			}
		}
	}
	definition := func(id types.ID) int32 {
		if l.nodes[id].Kind == types.KindStub {
			return -1
		}
		return l.tags.of[id]
	}
	each(func(i int, node types.ID) {
		if t := definition(node); t >= 0 && kept[t] < 2 && l.baseID(final(len(l.nodes)+i)) == 0 {
			kept[t]++
		}
	})
	each(func(i int, node types.ID) {
		t := definition(node)
		out[i] = t >= 0 && kept[t] > 1 || l.baseID(final(len(l.nodes)+i)) != 0
	})
	for changed := true; changed; {
		changed = false
		each(func(i int, _ types.ID) {
			if out[i] {
				return
			}
			t := &l.inst.list[i]
			for _, a := range l.inst.args[t.arg : t.arg+t.args] {
				if out[a] {
					out[i], changed = true, true
					return
				}
			}
		})
	}
	return out
}

// ambiguousLabel hashes an instance's shape with placeholders for its ambiguous children.
func (l *linker) ambiguousLabel(i int32, ambiguous []bool) types.Hash {
	t := &l.inst.list[i]
	args := l.inst.args[t.arg : t.arg+t.args]
	return l.shapeHash(t.node, func(r types.ID) types.Hash {
		if l.role[r] == plain {
			return l.nodes[r].Hash
		}
		a := args[0]
		args = args[1:]
		if ambiguous[a] {
			return placeholder
		}
		return l.unpinned(r)
	})
}

// hashOf returns the content of a kept type for the order. Made types refer to ones that were made
// before, or to such as are not made: no chain is longer than that of a tag on a function with an
// arena pointer.
func (l *linker) hashOf(f final) types.Hash {
	if id := l.baseID(f); id != 0 {
		return idHash(id)
	}
	switch i := int(f) - len(l.nodes); {
	case f == 0:
		return types.Hash{}
	case i < 0:
		return l.nodes[f].Hash
	case i < len(l.inst.list):
		return l.hashes[i]
	}
	m := l.madeAt(f)
	h := types.Start(m.kind, m.size, m.aux, l.g.Strs.Hash(m.name), l.hashOf(m.ref))
	for _, e := range l.elemsOf(m) {
		h.Elem(l.g.Strs.Hash(e.name), l.hashOf(e.ref), e.val)
	}
	return h.Sum(m.flag)
}
