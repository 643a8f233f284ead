package object

import "github.com/rules-btf/rules_btf/internal/types"

// TypesHash is a hash of the set of types that u holds: definitions of tags, typedefs, anonymous
// enums. Functions, variables, sections and declaration tags don't count, because the linker may
// drop some of them. So the hash is the same whether the unit was read from its object file or
// from the linked file.
func (u *Unit) TypesHash(g *types.Graph) types.Hash {
	var sum types.Hash
	n := uint32(0)
	for _, id := range u.Items {
		switch g.Nodes[id].Kind {
		case types.KindFunc, types.KindVar, types.KindDatasec, types.KindDeclTag:
			continue
		}
		n++
		sum.A += g.Nodes[id].Hash.A
		sum.B += g.Nodes[id].Hash.B
	}
	h := types.Start(types.KindVoid, n, 0, types.Hash{}, sum)
	return h.Sum(false)
}

// VariableHash is a hash of the VAR node with content hash variable in a unit with this TypesHash.
// Two variables with the same VariableHash have the same type: their own nodes are equal, and so
// are all types that their units define.
func VariableHash(variable, unitTypes types.Hash) types.Hash {
	h := types.Start(types.KindVar, 0, 0, variable, unitTypes)
	return h.Sum(false)
}
