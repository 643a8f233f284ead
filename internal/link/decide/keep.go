package decide

import (
	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/types"
)

// keepVariables keeps the VARs and DATASECs of BTF that was linked before.
func (d *decider) keepVariables() {
	for name := range d.Variables.Names() {
		for _, h := range d.holders(types.KindVar, name) {
			if h.Linked {
				n := d.Node(h.Type)
				v := d.make(Made{Kind: types.KindVar, Name: n.Name, Aux: n.Aux, Ref: h.Ref})
				d.encodedAs(h.Type, v)
			}
		}
	}
	if d.LinkedWeight == nil {
		return
	}
	for _, id := range d.Sections {
		if d.LinkedWeight[id] != 0 && d.Fixed(id) {
			var vars []Type
			for _, e := range d.Graph.ElemsOf(&d.Nodes[id]) {
				vars = append(vars, Type(e.Ref))
			}
			d.keepSection(id, vars)
		}
	}
	seen := map[types.Hash]bool{}
	for i := range d.Attachments {
		a := &d.Attachments[i]
		n := &d.Nodes[a.Node]
		if n.Kind != types.KindDatasec {
			continue
		}
		refs := d.RefsOf(a)
		h := types.Start(types.KindDatasec, 0, 0, n.Hash, types.Hash{})
		var vars []Type
		for _, e := range d.Graph.ElemsOf(n) {
			v := refs.Next(e.Ref)
			vars = append(vars, v)
			h.Elem(types.Hash{}, d.Content(v), e.Val)
		}
		if sum := h.Sum(false); !seen[sum] {
			seen[sum] = true
			d.keepSection(a.Node, vars)
		}
	}
}

// keepSection makes a DATASEC again, with its VARs as they are encoded.
func (d *decider) keepSection(id types.ID, vars []Type) {
	n := &d.Nodes[id]
	m := Made{Kind: types.KindDatasec, Name: n.Name, Size: n.Size}
	var elems []Elem
	for i, e := range d.Graph.ElemsOf(n) {
		if v := d.encoded[vars[i]]; v != 0 {
			elems = append(elems, Elem{0, v, e.Val})
		}
	}
	d.make(m, elems...)
}

func (d *decider) checkSections() error {
	for _, m := range d.Made {
		if m.Kind == types.KindDatasec && len(d.Elems(m)) > btf.MaxVlen {
			return tooManyVariables(d.Graph.Strs.String(m.Name), len(d.Elems(m)))
		}
	}
	return nil
}
