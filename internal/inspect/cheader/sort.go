package cheader

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

const lastRank = 10

type sortKey struct {
	rank      int
	name, own string // the name of the type that this type leads to, and this type's name
	id        uint32
}

// sorted returns the types to write, in bpftool's order (sort_btf_c in its btf.c): enums, then
// structs and unions, then function types, each group with the typedefs that lead to its types;
// then the rest. Each group is sorted by name, so a small change in a kernel makes a small change
// in its header. Types with the same name are sorted by bpftool's hash.
// Rule: C header: order of the types. Source: bpftool btf.c sort_btf_c.
func (g *generator) sorted() []uint32 {
	keys := make([]sortKey, 0, g.blob.EndID())
	for id, t := range g.blob.All() {
		switch t.Kind {
		case btf.KindInt, btf.KindFloat, btf.KindFunc, btf.KindVar, btf.KindDatasec, btf.KindDeclTag,
			btf.KindLocParam, btf.KindLocProto, btf.KindLocsec:
		default:
			keys = append(keys, g.sortKey(id, t))
		}
	}
	type known struct {
		hash uint64
		ok   bool
	}
	hashes := make([]known, g.blob.EndID())
	hash := func(id uint32) uint64 {
		if !hashes[id].ok {
			hashes[id] = known{g.hash(id, true), true}
		}
		return hashes[id].hash
	}
	slices.SortFunc(keys, func(x, y sortKey) int {
		if x.rank != y.rank {
			return cmp.Compare(x.rank, y.rank)
		}
		if c := strings.Compare(x.name, y.name); c != 0 {
			return c
		}
		if c := strings.Compare(x.own, y.own); c != 0 {
			return c
		}
		if c := cmp.Compare(hash(x.id), hash(y.id)); c != 0 {
			return c
		}
		return cmp.Compare(x.id, y.id)
	})
	ids := make([]uint32, len(keys))
	for i, k := range keys {
		ids[i] = k.id
	}
	return ids
}

// sortKey returns the key of a type. It follows the type's references to a definition.
func (g *generator) sortKey(id uint32, t *btf.Type) sortKey {
	k := sortKey{id: id, own: g.blob.TypeName(t)}
	ranked := false // whether the rank is final
	named := k.own != ""
	for depth := 0; ; depth++ {
		if depth > maxDepth {
			g.fail(id, "its chain of references is longer than %d types", maxDepth)
			return k
		}
		kind := btf.KindVoid
		if t != nil {
			kind = t.Kind
			named = named || t.NameOff != 0
		}
		next, follows := uint32(0), false
		switch {
		case kind == btf.KindArray:
			_, o := g.blob.ByID(id)
			next, follows = o.ArrayOf(t).Elem, true
		case kind.IsModifier() || kind == btf.KindPtr:
			next, follows = t.SizeOrType, true
		}
		if !ranked && (!follows || !named) {
			k.rank, ranked = rank(kind, named), true
		}
		if !follows {
			k.name = g.nameForSort(id, t, depth > 0)
			return k
		}
		id = next
		t, _ = g.blob.ByID(id)
	}
}

// nameForSort returns the name by which a type is sorted: its own name or, for an anonymous enum
// that was not reached through another type, the name of the first enumerator.
func (g *generator) nameForSort(id uint32, t *btf.Type, ledTo bool) string {
	if t != nil && t.Kind.IsEnum() && t.NameOff == 0 && t.Vlen > 0 && !ledTo {
		_, o := g.blob.ByID(id)
		name, _ := g.blob.Name(o.EnumsOf(t)[0].NameOff)
		return name
	}
	return g.blob.TypeName(t)
}

// rank returns the place of a kind in the order. named is set if the type has a name, or a type
// that leads to it has one.
func rank(k btf.Kind, named bool) int {
	switch {
	case k.IsEnum() && named:
		return 1
	case k.IsEnum():
		return 0
	case k == btf.KindInt || k == btf.KindFloat:
		return 2
	case k.IsComposite() && named:
		return 3
	case k == btf.KindFuncProto && named:
		return 4
	}
	return lastRank
}

// hash is bpftool's btf_type_disambig_hash.
func (g *generator) hash(id uint32, members bool) uint64 {
	t, o := g.blob.ByID(id)
	if t == nil || !g.enter(id) {
		return 0
	}
	defer g.leave()
	h := g.hashName(0, t.NameOff)
	switch {
	case t.Kind.IsEnum():
		for _, e := range o.EnumsOf(t) {
			h = g.hashName(h, e.NameOff)
		}
	case t.Kind.IsComposite() && members:
		for _, m := range o.MembersOf(t) {
			h = g.hashName(h, m.NameOff)*31 + g.hash(m.Type, false)
		}
	case t.Kind == btf.KindArray:
		a := o.ArrayOf(t)
		h = (h*31+uint64(a.Nelems))*31 + g.hash(a.Elem, members)
	case t.Kind.IsModifier() || t.Kind == btf.KindPtr:
		h = h*31 + g.hash(t.SizeOrType, members)
	}
	return h
}

func (g *generator) hashName(h uint64, off uint32) uint64 {
	if off == 0 {
		return h
	}
	name, _ := g.blob.Name(off)
	n := uint64(0)
	for _, c := range []byte(name) {
		n = n*31 + uint64(int64(int8(c)))
	}
	return h*31 + n
}
