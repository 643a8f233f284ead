package decide

import (
	"github.com/rules-btf/rules_btf/internal/types"
)

// declTag is the content of a DECL_TAG.
type declTag struct {
	value     types.Str
	target    Type
	component uint32
	flag      bool
}

// attachTags makes the DECL_TAGs that units hold, for targets that are encoded.
func (d *decider) attachTags() {
	seen := map[declTag]bool{}
	add := func(id types.ID, target Type) {
		n := &d.Nodes[id]
		switch d.Node(target).Kind {
		case types.KindFunc, types.KindVar:
			if target = d.encoded[target]; target == 0 {
				return
			}
		default:
			base := d.BaseID(target)
			value := d.Graph.Strs.Bytes(n.Name)
			if base != 0 && d.Base.HasDeclTag(value, base, n.Aux, n.Flag) {
				return
			}
		}
		if k := (declTag{n.Name, target, n.Aux, n.Flag}); !seen[k] {
			seen[k] = true
			d.make(Made{Kind: types.KindDeclTag, Name: n.Name, Aux: n.Aux, Flag: n.Flag, Ref: target})
		}
	}
	for _, m := range d.Made {
		if m.Kind == types.KindDeclTag {
			seen[declTag{m.Name, m.Ref, m.Aux, m.Flag}] = true
		}
	}
	for _, id := range d.DeclTags {
		if n := &d.Nodes[id]; d.Weight[id] != 0 && d.Fixed(id) && n.Ref != 0 {
			add(id, d.Of(n.Ref))
		}
	}
	for i := range d.Attachments {
		if a := &d.Attachments[i]; d.Nodes[a.Node].Kind == types.KindDeclTag {
			refs := d.RefsOf(a)
			add(a.Node, refs.Next(d.Nodes[a.Node].Ref))
		}
	}
}
