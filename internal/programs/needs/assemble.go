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
		slices.SortFunc(p.Symbols, compareSymbols)
		numbers := a.numbers(&p, placed, types)
		p.Conditions = a.conditions(a.reached, numbers)
		p.Certain = a.conditions(a.certain, numbers)
		maps.DeleteFunc(p.Certain, func(i int, c Condition) bool {
			other, ok := p.Conditions[i]
			return i < len(p.Relocations) && p.Relocations[i].Kind.IsGuard() ||
				ok && slices.CompareFunc(c, other, compareCubes) == 0
		})
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

// numbers returns the numbers of facts in the conditions of a program, by the keys of relocations
// and symbols.
func (a *asked) numbers(p *Program, placed map[string]core.Relocation,
	types map[string]uint32) map[string]int {
	numbers := map[string]int{}
	for key := range a.relocations {
		numbers[key], _ = slices.BinarySearchFunc(p.Relocations, placed[key], compareRelocations)
	}
	for key, s := range a.symbols {
		s.Symbol.Type = types[key]
		i, _ := slices.BinarySearchFunc(p.Symbols, s.Symbol, compareSymbols)
		numbers[key] = len(p.Relocations) + i
	}
	return numbers
}

// conditions returns the conditions of a program's relocations and symbols, by their numbers.
func (a *asked) conditions(of map[string]Condition, numbers map[string]int) map[int]Condition {
	all := map[int]Condition{}
	for key, c := range of {
		list := all[numbers[key]]
		for _, cube := range c {
			renumbered := []Literal{}
			for _, l := range cube {
				l.Test = l.Test.Renumber(func(fact int) int { return numbers[a.facts[fact]] })
				renumbered = append(renumbered, l)
			}
			list = append(list, renumbered)
		}
		all[numbers[key]] = list
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
