package decide

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// keepVariables makes the VARs and DATASECs of BTF that was linked before again.
func (d *decider) keepVariables() error {
	if d.LinkedWeight == nil {
		return nil
	}
	for name := range d.Variables.Keys() {
		for _, h := range d.holders(types.KindVar, name) {
			if h.FromBTF {
				n := d.Node(h.Type)
				v := types.Node{Kind: types.KindVar, Name: n.Name, Aux: n.Aux, Ref: types.ID(h.Ref)}
				d.encodedAs(h.Type, d.make(v))
			}
		}
	}
	seen := map[types.Hash]bool{}
	for id, refs := range d.Attached(types.KindDatasec) {
		n := &d.Nodes[id]
		var elems []types.Elem
		content := types.Start(types.KindDatasec, 0, 0, n.Hash, types.Hash{})
		for _, e := range d.Graph.ElemsOf(n) {
			v := refs.Next(e.Ref)
			content.Elem(types.Hash{}, d.Content(v), e.Val)
			if made := d.encoded[v]; made != 0 {
				elems = append(elems, types.Elem{Ref: types.ID(made), Val: e.Val})
			}
		}
		sum := content.Sum(false)
		if d.LinkedWeight[id] == 0 || seen[sum] {
			continue
		}
		seen[sum] = true
		if len(elems) > btf.MaxVlen {
			return d.tooManyVariables(n.Name, len(elems))
		}
		d.make(types.Node{Kind: types.KindDatasec, Name: n.Name, Size: n.Size}, elems...)
	}
	return nil
}
