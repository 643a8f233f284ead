package decide

import "github.com/rules-btf/rules_btf/internal/model/types"

// attachTags makes the DECL_TAGs that units hold and whose target is encoded, without duplicates.
// Rule: declaration tags: which are written. Source: libbpf btf_hash_int_decl_tag,
// btf_equal_int_tag.
func (d *decider) attachTags() {
	seen := map[Node]bool{}
	for i := range d.nodes {
		if m := &d.nodes[i]; m.Kind == types.KindDeclTag {
			seen[declTag(m, m.Ref)] = true
		}
	}
	for id, refs := range d.types.Attached(types.KindDeclTag) {
		n := &d.shapes.Nodes[id]
		if n.Ref == 0 {
			continue
		}
		target := refs.Next(n.Ref)
		switch d.types.Node(target).Kind {
		case types.KindFunc, types.KindVar:
			if target = d.encoded[target]; target == 0 {
				continue
			}
		default:
			value, on := d.shapes.Graph.Strs.Bytes(n.Name), d.types.BaseID(target)
			if on != 0 && (d.extra || d.types.Base.HasDeclTag(value, on, n.Aux, n.Flag)) {
				continue
			}
		}
		if tag := declTag(n, target); !seen[tag] {
			seen[tag] = true
			d.make(tag)
		}
	}
}

func declTag[R ~uint32](n *types.NodeOf[R], target Type) Node {
	return Node{Kind: types.KindDeclTag, Name: n.Name, Aux: n.Aux, Flag: n.Flag, Ref: target}
}
