package decide

import (
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/link/base"
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
func (d *decider) tagKfuncs() {
	f := d.facts
	if f == nil || !d.features.Has(features.DeclTagKfuncs) {
		return
	}
	for i := range f.Kfuncs {
		k := &f.Kfuncs[i]
		s, ok := d.Graph.Strs.Lookup([]byte(k.Name))
		if !ok {
			continue
		}
		fn, ok := d.kfuncs[s]
		if !ok {
			continue
		}
		if d.features.Has(features.DeclTag) {
			d.declTag("bpf_kfunc", fn)
			if k.Flags&kfFastcall != 0 {
				d.declTag("bpf_fastcall", fn)
			}
		}
		if d.features.Has(features.Attributes) && k.Flags&(kfArenaRet|kfArenaArg1|kfArenaArg2) != 0 {
			proto := d.arenaPrototype(d.At(fn).Ref, k.Flags)
			d.At(fn).Ref = proto
		}
	}
}

func (d *decider) declTag(value string, target Type) {
	d.make(Made{Kind: types.KindDeclTag, Name: d.Graph.Strs.Intern([]byte(value)), Ref: target})
}

// arenaPrototype returns a prototype in which the pointers that flags name point into the arena's
// address space.
func (d *decider) arenaPrototype(proto Type, flags uint32) Type {
	n := d.Node(proto)
	w := d.Refs(proto)
	m := Made{Kind: types.KindFuncProto, Ref: w.Next(n.Ref)}
	var elems []Elem
	for _, e := range d.Graph.ElemsOf(n) {
		elems = append(elems, Elem{e.Name, w.Next(e.Ref), e.Val})
	}
	if flags&kfArenaRet != 0 {
		m.Ref = d.arenaPointer(m.Ref)
	}
	for i, bit := range []uint32{kfArenaArg1, kfArenaArg2} {
		if flags&bit != 0 && i < len(elems) {
			elems[i].Ref = d.arenaPointer(elems[i].Ref)
		}
	}
	return d.makeOnce(m, elems...)
}

// arenaPointer returns PTR -> TYPE_TAG address_space(1) -> T for PTR -> T; what is no pointer stays
// as it is.
func (d *decider) arenaPointer(f Type) Type {
	if f == 0 || d.Node(f).Kind != types.KindPtr {
		return f
	}
	tag := Made{Kind: types.KindTypeTag, Name: d.Graph.Strs.Intern([]byte("address_space(1)")),
		Flag: true,
		Ref:  d.RefOf(f)}
	return d.makeOnce(Made{Kind: types.KindPtr, Ref: d.makeOnce(tag)})
}

// makeOnce adds a made type unless there is an equal one, made or in the graph.
func (d *decider) makeOnce(m Made, elems ...Elem) Type {
	h := types.Start(m.Kind, m.Size, m.Aux, d.Graph.Strs.Hash(m.Name), d.keyOf(m.Ref))
	for _, e := range elems {
		h.Elem(d.Graph.Strs.Hash(e.Name), d.keyOf(e.Ref), e.Val)
	}
	key := h.Sum(m.Flag)
	if k, ok := d.arena[key]; ok {
		return k
	}
	k := Type(d.Graph.Find(key))
	if k == 0 || int(k) >= len(d.Nodes) || !d.Fixed(types.ID(k)) {
		k = d.make(m, elems...)
	}
	d.arena[key] = k
	return k
}

// keyOf is the content of a type by which made types are compared.
func (d *decider) keyOf(k Type) types.Hash {
	switch {
	case k == 0:
		return types.Hash{}
	case d.At(k) != nil:
		for key, made := range d.arena { // two or three
			if made == k {
				return key
			}
		}
		return base.IDHash(uint32(k))
	case !d.IsVariant(k) && d.Nodes[k].IsDefinition():
		return d.TagHash(types.ID(k))
	}
	return d.Content(k)
}
