package link

import (
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/types"
)

// Bits of a kfunc's flags (include/linux/btf.h in Linux 7.2).
const (
	kfFastcall  = 1 << 12
	kfArenaRet  = 1 << 13
	kfArenaArg1 = 1 << 14
	kfArenaArg2 = 1 << 15
)

// tagKfuncs makes the DECL_TAGs of encoded kfuncs, and with the feature attributes the type tags of
// those that return or take arena pointers.
func (l *linker) tagKfuncs() {
	f := l.opt.Facts
	if f == nil || !l.opt.Features.Has(features.DeclTagKfuncs) {
		return
	}
	for i := range f.Kfuncs {
		k := &f.Kfuncs[i]
		s, ok := l.g.Strs.Lookup([]byte(k.Name))
		if !ok {
			continue
		}
		fn, ok := l.kfuncs[s]
		if !ok {
			continue
		}
		if l.opt.Features.Has(features.DeclTag) {
			l.declTag("bpf_kfunc", fn)
			if k.Flags&kfFastcall != 0 {
				l.declTag("bpf_fastcall", fn)
			}
		}
		if l.opt.Features.Has(features.Attributes) && k.Flags&(kfArenaRet|kfArenaArg1|kfArenaArg2) != 0 {
			proto := l.arenaPrototype(l.madeAt(fn).ref, k.Flags)
			l.madeAt(fn).ref = proto
		}
	}
}

func (l *linker) declTag(value string, target final) {
	l.make(made{kind: types.KindDeclTag, name: l.g.Strs.Intern([]byte(value)), ref: target})
}

// arenaPrototype returns a prototype in which the pointers that flags name point into the arena's
// address space.
func (l *linker) arenaPrototype(proto final, flags uint32) final {
	n := &l.nodes[l.nodeOf(proto)]
	w := l.walk(proto)
	m := made{kind: types.KindFuncProto, ref: w.next(n.Ref)}
	var elems []madeElem
	for _, e := range l.g.ElemsOf(n) {
		elems = append(elems, madeElem{e.Name, w.next(e.Ref), e.Val})
	}
	if flags&kfArenaRet != 0 {
		m.ref = l.arenaPointer(m.ref)
	}
	for i, bit := range []uint32{kfArenaArg1, kfArenaArg2} {
		if flags&bit != 0 && i < len(elems) {
			elems[i].ref = l.arenaPointer(elems[i].ref)
		}
	}
	return l.makeOnce(m, elems...)
}

// arenaPointer returns PTR -> TYPE_TAG address_space(1) -> T for PTR -> T; what is no pointer stays
// as it is.
func (l *linker) arenaPointer(f final) final {
	if f == 0 || l.nodes[l.nodeOf(f)].Kind != types.KindPtr {
		return f
	}
	tag := made{kind: types.KindTypeTag, name: l.g.Strs.Intern([]byte("address_space(1)")), flag: true,
		ref: l.refTo(f)}
	return l.makeOnce(made{kind: types.KindPtr, ref: l.makeOnce(tag)})
}

// makeOnce adds a made type unless there is an equal one, made or in the graph.
func (l *linker) makeOnce(m made, elems ...madeElem) final {
	n := types.Start(m.kind, m.size, m.aux, l.g.Strs.Hash(m.name), l.keyOf(m.ref))
	for _, e := range elems {
		n.Elem(l.g.Strs.Hash(e.name), l.keyOf(e.ref), e.val)
	}
	key := n.Sum(m.flag)
	if f, ok := l.arena[key]; ok {
		return f
	}
	f := final(l.g.Find(key))
	if f == 0 || int(f) >= len(l.nodes) || l.role[f] != plain {
		f = l.make(m, elems...)
	}
	if l.arena == nil {
		l.arena = map[types.Hash]final{}
	}
	l.arena[key] = f
	return f
}

// keyOf is the content of a type by which made types are compared.
func (l *linker) keyOf(f final) types.Hash {
	switch {
	case f == 0:
		return types.Hash{}
	case l.madeAt(f) != nil:
		for key, g := range l.arena { // two or three
			if g == f {
				return key
			}
		}
		return idHash(uint32(f))
	case int(f) < len(l.nodes) && l.nodes[f].IsDefinition():
		return l.tags.list[l.tags.of[f]].hash
	}
	return l.content(f)
}

// attachTags makes the DECL_TAGs that units hold, for targets that are kept.
func (l *linker) attachTags() {
	seen := map[made3]bool{}
	add := func(id types.ID, target final) {
		n := &l.nodes[id]
		switch l.nodes[l.nodeOf(target)].Kind {
		case types.KindFunc, types.KindVar:
			if l.encoded[target] == 0 {
				return
			}
			target = l.encoded[target] - 1
		}
		if base := l.baseID(target); base != 0 && l.base.tags[declTag{n.Name, base, n.Aux, n.Flag}] {
			return
		}
		if k := (made3{n.Name, target, n.Aux, n.Flag}); !seen[k] {
			seen[k] = true
			l.make(made{kind: types.KindDeclTag, name: n.Name, aux: n.Aux, flag: n.Flag, ref: target})
		}
	}
	for i := range l.made {
		if m := &l.made[i]; m.kind == types.KindDeclTag {
			seen[made3{m.name, m.ref, m.aux, m.flag}] = true
		}
	}
	for _, id := range l.seen.declTags {
		if n := &l.nodes[id]; l.weight[id] != 0 && l.role[id] == plain && n.Ref != 0 {
			add(id, l.types[n.Ref])
		}
	}
	for i := range l.attachments {
		if a := &l.attachments[i]; l.nodes[a.node].Kind == types.KindDeclTag && len(a.refs) == 1 {
			add(a.node, l.instFinal(a.refs[0]))
		}
	}
}

// made3 is the content of a made DECL_TAG.
type made3 struct {
	name   types.Str
	target final
	aux    uint32
	flag   bool
}
