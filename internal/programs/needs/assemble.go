package needs

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/programs/core"
)

// assemble puts the types of all requests into one BTF, in the order of the sorted requests, and
// sorts the programs.
func assemble(all []*asked, order binary.ByteOrder) (*Needs, error) {
	requests, symbols := map[string]*request{}, map[string]symbolRequest{}
	for _, a := range all {
		maps.Copy(requests, a.relocations)
		maps.Copy(symbols, a.symbols)
	}
	local := newLocal(order)
	placed := local.relocations(requests)
	types := map[string]uint32{}
	for _, key := range slices.Sorted(maps.Keys(symbols)) {
		if of := symbols[key].of; of != nil {
			types[key] = local.add(of)
		}
	}
	n := &Needs{Order: order}
	var err error
	if n.Local, err = local.finish(); err != nil {
		return nil, err
	}
	objects := make([][]Program, len(all))
	for _, a := range all {
		p := Program{Name: a.name, Section: a.section}
		shared := map[core.Relocation]bool{}
		for key := range a.relocations {
			p.Relocations = append(p.Relocations, placed[key])
			shared[placed[key]] = shared[placed[key]] || a.shared[key]
		}
		for key, s := range a.symbols {
			s.Symbol.Type = types[key]
			p.Symbols = append(p.Symbols, s.Symbol)
		}
		slices.SortFunc(p.Relocations, compareRelocations)
		p.Relocations = slices.Compact(p.Relocations)
		p.Conditions = a.conditions(a.reached, p.Relocations, placed)
		p.Certain = a.conditions(a.certain, p.Relocations, placed)
		maps.DeleteFunc(p.Certain, func(i int, c Condition) bool {
			other, ok := p.Conditions[i]
			return p.Relocations[i].Kind.IsGuard() ||
				ok && slices.EqualFunc(c, other, slices.Equal[[]Literal])
		})
		slices.SortFunc(p.Symbols, compareSymbols)
		for i, r := range p.Relocations {
			if shared[r] {
				p.Shared = append(p.Shared, i)
			}
		}
		p.Refused = slices.SortedFunc(maps.Keys(a.refused), compareRefused)
		objects[a.object] = append(objects[a.object], p)
	}
	n.Programs = numbered(objects)
	return n, nil
}

// conditions returns the conditions of a program's relocations, by the relocation's index in the
// parameter list. The literals use the same indexes.
func (a *asked) conditions(of map[string][]keyCube, list []core.Relocation,
	placed map[string]core.Relocation) map[int]Condition {
	index := func(key string) int {
		i, _ := slices.BinarySearchFunc(list, placed[key], compareRelocations)
		return i
	}
	all := map[int]Condition{}
	for key := range a.relocations {
		c := all[index(key)]
		for _, guards := range of[key] {
			cube := []Literal{}
			for guard, found := range guards {
				cube = append(cube, Literal{index(guard), found})
			}
			c = append(c, cube)
		}
		all[index(key)] = c
	}
	for i, c := range all {
		var always bool
		if all[i], always = c.normal(); always {
			delete(all, i)
		}
	}
	return all
}

// rootKey is the same for all requests about types of one kind and name. Sorting by this key puts
// these requests next to each other.
func rootKey(w *want) (btf.Kind, string) { return w.kind, w.name }

func compareRequests(a, b *request) int {
	ak, an := rootKey(a.root)
	bk, bn := rootKey(b.root)
	return cmp.Or(cmp.Compare(an, bn), cmp.Compare(ak, bk), cmp.Compare(a.key, b.key))
}
