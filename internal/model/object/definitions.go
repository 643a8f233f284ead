package object

import (
	"cmp"

	"github.com/rules-btf/rules_btf/internal/model/pin"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// definitions are what references must tell apart, with a pin, in a chain of blobs: the definitions
// of tags of which it holds several, or which one blob defines and another declares, and cyclic
// typedefs.
type definitions struct {
	*records
	apart  map[uint32]bool // the ids
	scopes []scope
}

// scope is a range of ids, a chain or one of its blobs, whose references need a pin where the ids
// up to its end hold several definitions.
type scope struct {
	start, end uint32
	// the definitions in it of tags that have several; and declarations of tags that from this
	// scope on do not mean the definition
	listed []uint32
}

type tagName struct {
	tag  types.Tag
	name types.Str
}

// presence is where a chain defines and declares a tag.
type presence struct {
	ids     []uint32 // of its definitions
	fwd     uint32   // a declaration
	layer   int      // where it was first seen
	several bool     // it was seen in other layers too
	apart   bool     // a blob declares it that is not the one that defines it
}

// definitions finds the definitions that must be distinguished: in the whole chain, or if bases is
// set in each blob and those before it. The result is nil if there are none.
func (r *records) definitions(bases bool) (*definitions, error) {
	d := &definitions{records: r, apart: map[uint32]bool{}, scopes: []scope{{start: 1, end: r.end}}}
	if bases {
		d.scopes = nil
		for _, l := range r.layers {
			d.scopes = append(d.scopes, scope{start: l.StartID, end: l.EndID()})
		}
	}
	for id, ok := range r.cyclic {
		if ok {
			d.apart[id] = true
		}
	}
	index := map[tagName]int{}
	var tags []presence
	for id := uint32(1); id < r.end; id++ {
		t, _ := r.at(id)
		if !r.tagged(t) {
			continue
		}
		name, err := r.name(t.NameOff)
		if err != nil {
			return nil, err
		}
		declared := r.declared(t)
		k := tagName{cmp.Or(declared, types.TagOf(types.Kind(t.Kind))), name}
		i, ok := index[k]
		if !ok {
			i = len(tags)
			index[k] = i
			tags = append(tags, presence{layer: r.layerOf(id)})
		}
		p := &tags[i]
		if declared != 0 {
			p.fwd = id
		} else {
			p.ids = append(p.ids, id)
		}
		p.several = p.several || r.layerOf(id) != p.layer
		if !p.apart && p.several && p.fwd != 0 && len(p.ids) > 0 {
			p.apart = true
			d.list(id, p.fwd)
		}
	}
	for i := range tags {
		if p := &tags[i]; len(p.ids) > 1 || p.apart {
			for _, id := range p.ids {
				d.apart[id] = true
				d.list(id, id)
			}
		}
	}
	if len(d.apart) == 0 {
		return nil, nil
	}
	return d, nil
}

// list lists a definition or declaration in the scope of an id.
func (d *definitions) list(at, id uint32) {
	i := 0
	for at >= d.scopes[i].end {
		i++
	}
	d.scopes[i].listed = append(d.scopes[i].listed, id)
}

// shape adds the types that refer to definitions by pins, and the definitions, to the graph. The
// result has their nodes by id, and 0 for the other types.
//
// What a blob takes from its base without a tag in between, such as a typedef, is its own part
// shapes: there a tag may need a pin of which the base has one definition only.
func (d *definitions) shape(order []uint32) ([]types.ID, error) {
	ids := make([]types.ID, d.end)
	defined := make([][]types.ID, len(d.scopes))
	own := &shaper{records: d.with(types.New())}
	lead := d.lead(order)
	for i := range d.scopes {
		s := &d.scopes[i]
		own.ids, own.pinned = make([]types.ID, d.end), nil
		own.pin = func(_, _, target uint32) (types.Hash, bool) {
			return pin.Provisional(uint64(target), i), d.apart[target]
		}
		for id := uint32(1); id < s.start; id++ {
			if t, _ := d.at(id); d.tagged(t) || d.cyclic[id] {
				own.ids[id] = ids[id]
			}
		}
		if err := own.shape(d.reach(order, lead, s)); err != nil {
			return nil, err
		}
		copy(ids[s.start:s.end], own.ids[s.start:])
		for _, id := range s.listed {
			node := ids[id]
			if t, _ := d.at(id); d.declared(t) != 0 {
				name, _ := own.name(t.NameOff)
				node = own.g.Stub(d.declared(t), name)
			}
			defined[i] = append(defined[i], node)
		}
	}
	nodes, err := pin.Import(d.g, own.g, defined)
	if err != nil {
		return nil, err
	}
	for id, node := range ids {
		ids[id] = nodes[node]
	}
	return ids, nil
}

// lead tells for each id whether it leads to one of the definitions, or is one.
func (d *definitions) lead(order []uint32) []bool {
	lead := make([]bool, d.end)
	for _, id := range order {
		lead[id] = d.apart[id]
		t, l := d.at(id)
		for ref := range l.Refs(t) {
			if child := *ref; child != 0 && d.crosses(t, child) {
				lead[id] = lead[id] || d.apart[child]
			} else {
				lead[id] = lead[id] || lead[child]
			}
		}
	}
	return lead
}

// reach returns those of a scope's types that lead to definitions, and what their shapes contain;
// children first.
func (d *definitions) reach(order []uint32, lead []bool, s *scope) []uint32 {
	in := make([]bool, d.end)
	for i := len(order) - 1; i >= 0; i-- {
		id := order[i]
		in[id] = in[id] || lead[id] && s.start <= id && id < s.end
		if !in[id] {
			continue
		}
		t, l := d.at(id)
		for ref := range l.Refs(t) {
			in[*ref] = in[*ref] || *ref != 0 && !d.crosses(t, *ref)
		}
	}
	var list []uint32
	for _, id := range order {
		if in[id] {
			list = append(list, id)
		}
	}
	return list
}
