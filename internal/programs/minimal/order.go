package minimal

import (
	"cmp"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/programs/core"
)

// kernelOrder gives types of one name the order in which the kernel's BTF has them. libbpf takes
// the first of several candidates that agree: the size of a load or store is that of its field
// (bpf_core_calc_relo_insn). All other types keep their places, so BTF in which no name has several
// types stays in canonical order. The parameter first has, by index in b.Types, the place in the
// kernel's BTF of the first type that became this type. kernelOrder returns false if it has moved
// nothing.
// Rule: minimal BTF: order of types with the same name. Source: relo_core.c
// bpf_core_calc_relo_insn.
func kernelOrder(b *btf.Blob, first []uint32) (moved bool) {
	type candidates struct {
		kind btf.Kind
		name string
	}
	groups := map[candidates][]uint32{}
	to := make([]uint32, len(b.Types)) // new indexes, by old index
	for i := range b.Types {
		to[i] = uint32(i)
		t := &b.Types[i]
		if name := b.TypeName(t); name != "" {
			of := candidates{t.Kind, core.Essential(name)}
			if t.Kind == btf.KindEnum64 {
				of.kind = btf.KindEnum
			}
			groups[of] = append(groups[of], uint32(i))
		}
	}
	for _, places := range groups {
		inOrder := slices.Clone(places)
		slices.SortStableFunc(inOrder, func(x, y uint32) int { return cmp.Compare(first[x], first[y]) })
		for n, i := range inOrder {
			to[i] = places[n]
			moved = moved || i != places[n]
		}
	}
	if !moved {
		return false
	}
	old := slices.Clone(b.Types)
	for i := range old {
		for ref := range b.Refs(&old[i]) {
			if *ref >= b.StartID {
				*ref = b.StartID + to[*ref-b.StartID]
			}
		}
		b.Types[to[i]] = old[i]
	}
	return true
}
