package object

import (
	"fmt"
	"math"

	"github.com/rules-btf/rules_btf/internal/model/types"
)

// unitHash identifies the content of u without the count: file name, kind and set of items.
func unitHash(g *types.Graph, u *Unit) types.Hash {
	var sum types.Hash
	for _, id := range u.Items {
		sum = sum.Plus(g.Nodes[id].Hash)
	}
	return types.Start(types.KindVoid, uint32(len(u.Items)), 0, g.Strs.Hash(u.File), sum).Sum(u.FromBTF)
}

// TypesHash is a hash of the types that u holds: definitions of tags, typedefs, anonymous enums.
// It leaves out functions, variables, sections and declaration tags, since the linker may drop
// them. So the hash is the same for an object file and for the linked file.
func (u *Unit) TypesHash(g *types.Graph) types.Hash {
	var sum types.Hash
	n := uint32(0)
	for _, id := range u.Items {
		switch g.Nodes[id].Kind {
		case types.KindFunc, types.KindVar, types.KindDatasec, types.KindDeclTag:
			continue
		}
		n++
		sum = sum.Plus(g.Nodes[id].Hash)
	}
	return types.Start(types.KindVoid, n, 0, types.Hash{}, sum).Sum(false)
}

// VariableHash is a hash of a VAR node in a unit. The parameter unitTypes is the unit's TypesHash.
// Variables with the same VariableHash have the same type: their nodes are equal, and so are all
// types of their units. Their sections may differ, because the linker may rename a section.
func VariableHash(g *types.Graph, variable types.Node, unitTypes types.Hash) types.Hash {
	if variable.Flag {
		variable.Flag = false
		variable.Hash = variable.HashWith(&g.Strs, nil, func(id types.ID) types.Hash {
			return g.Nodes[id].Hash
		})
	}
	return types.Start(types.KindVar, 0, 0, variable.Hash, unitTypes).Sum(false)
}

// unitSet collects units over one graph, without duplicates.
type unitSet struct {
	g     *types.Graph
	units []Unit
	index map[types.Hash]int
	stamp []int // by item: the last comparison with the item
	round int
}

func newUnitSet(g *types.Graph) *unitSet {
	return &unitSet{g: g, index: map[types.Hash]int{}}
}

// add adds u or, if there is a unit with the same content, adds u's count to that unit's. It
// returns the index of the unit. The items are nodes of the set's graph; the set keeps u.Items.
func (s *unitSet) add(u Unit) (int, error) { return s.addHashed(u, unitHash(s.g, &u)) }

// addHashed is add for callers that have the unitHash of u.
func (s *unitSet) addHashed(u Unit, h types.Hash) (int, error) {
	// A unit with the same hash but different content takes the next free key.
	for i, ok := s.index[h]; ok; i, ok = s.index[h] {
		if s.same(&s.units[i], &u) {
			if uint64(s.units[i].Count)+uint64(u.Count) > math.MaxUint32 {
				return 0, fmt.Errorf("more than %d units have the same content", uint32(math.MaxUint32))
			}
			s.units[i].Count += u.Count
			return i, nil
		}
		h.A++
	}
	s.index[h] = len(s.units)
	s.units = append(s.units, u)
	return len(s.units) - 1, nil
}

func (s *unitSet) same(a, b *Unit) bool {
	if a.File != b.File || a.FromBTF != b.FromBTF || len(a.Items) != len(b.Items) {
		return false
	}
	if n := len(s.g.Nodes); n > len(s.stamp) {
		s.stamp = append(s.stamp, make([]int, n-len(s.stamp))...)
	}
	s.round++
	for _, id := range a.Items {
		s.stamp[id] = s.round
	}
	for _, id := range b.Items {
		if s.stamp[id] != s.round {
			return false
		}
	}
	return true
}
