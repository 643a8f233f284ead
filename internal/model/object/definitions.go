package object

import (
	"cmp"
	"slices"

	"github.com/rules-btf/rules_btf/internal/model/pin"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// BTF that is already linked may have several definitions of a tag. The shapes must then say to
// which of them a reference leads. Take two CUs, linked into one BTF:
//
//	a.c                                     b.c
//	struct opts { int level; };             struct opts { long flags; };
//	struct dev { struct opts *o; };         struct port { struct opts *o; };
//
//	[1] STRUCT opts  [2] PTR to [1]  [3] STRUCT dev, of [2]
//	[4] STRUCT opts  [5] PTR to [4]  [6] STRUCT port, of [5]
//
// As plain shapes, [2] and [5] are both "pointer to struct opts". These steps tell them apart:
//
//  1. findTags: struct opts is defined by [1] and [4].
//  2. findAmbiguous: a name doesn't say whether a reference leads to [1] or [4], so references get
//     pins.
//  3. leading: [2], [3], [5] and [6] lead to [1] or [4].
//  4. shape: [1] to [6] become nodes of a temporary graph, in which the stubs in [2] and [5] have
//     provisional pins: the ids 1 and 4. pin.Import copies them to the real graph. It replaces ids
//     by hashes of the definitions, which don't depend on type ids. If [1] and [4] turn out to be
//     equal, it makes plain stubs.
//
// If the shapes of a base must not depend on what is based on it, each blob of the chain is its own
// scope. If the base then defines struct opts once, and split BTF on that base defines it again,
// references in the base are plain, and references in the split BTF are pinned.

// definitions has the ambiguous definitions in a chain of blobs: those that the tag alone doesn't
// identify, because the tag has several definitions.
type definitions struct {
	*records
	ambiguous map[uint32]bool // their ids
	scopes    []scope
}

// scope is a range of ids: those of a whole chain, or of one of its blobs. References to a tag in
// the scope get a pin if the types up to the scope's end have several definitions of the tag.
type scope struct {
	start, end uint32
	// the ambiguous definitions in the scope, and declarations that no longer resolve to the
	// definition
	listed []uint32
}

// presence says where a chain defines and declares a tag.
type presence struct {
	ids     []uint32 // ids of its definitions
	fwd     uint32   // a declaration
	layer   int      // where the tag was first seen
	layers  bool     // the tag was also seen in other layers
	foreign bool     // one blob declares the tag, and another one defines it
}

// definitions finds the ambiguous definitions. If bases is set, each blob is a scope; otherwise the
// whole chain is one. The result is nil if there are none.
func (r *records) definitions(bases bool) (*definitions, error) {
	d := &definitions{records: r, ambiguous: map[uint32]bool{},
		scopes: []scope{{start: 1, end: r.end}}}
	if bases {
		d.scopes = nil
		for _, l := range r.layers {
			d.scopes = append(d.scopes, scope{start: l.StartID, end: l.EndID()})
		}
	}
	tags, err := d.findTags()
	if err != nil {
		return nil, err
	}
	d.findAmbiguous(tags)
	if len(d.ambiguous) == 0 {
		return nil, nil
	}
	return d, nil
}

// findTags finds where each tag is defined and declared. It lists the declarations that don't
// resolve to the definition of the tag, because that definition is in another blob.
func (d *definitions) findTags() ([]presence, error) {
	index := map[types.TagName]int{}
	var tags []presence
	for id := uint32(1); id < d.end; id++ {
		t, _ := d.at(id)
		if !d.isTagged(t) {
			continue
		}
		name, err := d.name(t.NameOff)
		if err != nil {
			return nil, err
		}
		declared := d.declared(t)
		k := types.TagName{Tag: cmp.Or(declared, types.TagOf(types.Kind(t.Kind))), Name: name}
		i, ok := index[k]
		if !ok {
			i = len(tags)
			index[k] = i
			tags = append(tags, presence{layer: d.layerOf(id)})
		}
		p := &tags[i]
		if declared != 0 {
			p.fwd = id
		} else {
			p.ids = append(p.ids, id)
		}
		p.layers = p.layers || d.layerOf(id) != p.layer
		if !p.foreign && p.layers && p.fwd != 0 && len(p.ids) > 0 {
			p.foreign = true
			d.list(id, p.fwd)
		}
	}
	return tags, nil
}

// findAmbiguous finds the definitions of tags that have several definitions, or that one blob
// defines and another declares. Typedefs in cycles without a tag count as ambiguous too.
func (d *definitions) findAmbiguous(tags []presence) {
	for id, ok := range d.cyclic {
		if ok {
			d.ambiguous[id] = true
		}
	}
	for i := range tags {
		if p := &tags[i]; len(p.ids) > 1 || p.foreign {
			for _, id := range p.ids {
				d.ambiguous[id] = true
				d.list(id, id)
			}
		}
	}
}

// list adds id, a definition or declaration, to the list of the scope that contains the id at.
func (d *definitions) list(at, id uint32) {
	i := 0
	for at >= d.scopes[i].end {
		i++
	}
	d.scopes[i].listed = append(d.scopes[i].listed, id)
}

// shape adds the ambiguous definitions, and the types that lead to them, to the graph. It returns
// their nodes by id, and 0 for other types.
//
// If a type of a blob contains a type of the base, such as a typedef, without a tag in between, the
// base's type is shaped again: its references may get pins that they don't need in the base.
func (d *definitions) shape(order []uint32) ([]types.ID, error) {
	ids := make([]types.ID, d.end)
	listed := make([][]types.ID, len(d.scopes))
	own := &shaper{records: d.with(types.New())}
	leading := d.leading(order)
	for i := range d.scopes {
		s := &d.scopes[i]
		d.beginScope(own, i, ids)
		if err := own.shape(d.within(s, order, leading)); err != nil {
			return nil, err
		}
		copy(ids[s.start:s.end], own.ids[s.start:])
		for _, id := range s.listed {
			node := ids[id]
			if t, _ := d.at(id); d.declared(t) != 0 {
				name, _ := own.name(t.NameOff)
				node = own.g.Stub(d.declared(t), name)
			}
			listed[i] = append(listed[i], node)
		}
	}
	nodes, err := pin.Import(d.g, own.g, listed)
	if err != nil {
		return nil, err
	}
	for id, node := range ids {
		ids[id] = nodes[node]
	}
	return ids, nil
}

// beginScope prepares the shaper own for scope i: references to ambiguous definitions get
// provisional pins of that scope. Definitions in earlier scopes keep their nodes; all other types
// are shaped again.
func (d *definitions) beginScope(own *shaper, i int, ids []types.ID) {
	own.ids, own.pinned = make([]types.ID, d.end), nil
	own.pin = func(_, _, target uint32) (types.Hash, bool) {
		return pin.Provisional(uint64(target), i), d.ambiguous[target]
	}
	for id := uint32(1); id < d.scopes[i].start; id++ {
		if t, _ := d.at(id); d.isTagged(t) || d.cyclic[id] {
			own.ids[id] = ids[id]
		}
	}
}

// leading finds, for each id, whether it is an ambiguous definition or leads to one.
func (d *definitions) leading(order []uint32) []bool {
	leading := make([]bool, d.end)
	for _, id := range order {
		leading[id] = d.ambiguous[id]
		t, l := d.at(id)
		for ref := range l.Refs(t) {
			if child := *ref; child != 0 && d.crosses(t, child) {
				leading[id] = leading[id] || d.ambiguous[child]
			} else {
				leading[id] = leading[id] || leading[child]
			}
		}
	}
	return leading
}

// within selects the leading types of a scope and the types in their shapes, children first.
func (d *definitions) within(s *scope, order []uint32, leading []bool) []uint32 {
	in := make([]bool, d.end)
	for i := len(order) - 1; i >= 0; i-- {
		id := order[i]
		in[id] = in[id] || leading[id] && s.start <= id && id < s.end
		if !in[id] {
			continue
		}
		t, l := d.at(id)
		for ref := range l.Refs(t) {
			in[*ref] = in[*ref] || *ref != 0 && !d.crosses(t, *ref)
		}
	}
	return slices.DeleteFunc(slices.Clone(order), func(id uint32) bool { return !in[id] })
}
