package object

import (
	"cmp"

	"github.com/rules-btf/rules_btf/internal/pin"
	"github.com/rules-btf/rules_btf/internal/types"
)

// definitions are what references must tell apart, with a pin, in a chain of blobs: the definitions
// of tags of which it holds several, or which one blob defines and another declares, and cyclic
// typedefs.
//
// What a blob refers to by pins follows from what it and its bases say, so a base gives the same
// shapes whatever stands on it.
type definitions struct {
	*records
	apart map[uint32]bool // the ids
	// by layer: the definitions that it adds to those of the layers before it, of tags that have
	// several; and declarations of tags that from this layer on do not mean their definition
	listed [][]uint32
}

type tagName struct {
	tag  types.Tag
	name types.Str
}

// presence is where a chain defines and declares a tag.
type presence struct {
	ids      []uint32 // of its definitions
	defined  span
	declared span
	fwd      uint32 // a declaration
	apart    bool   // a blob declares it that is not the one that defines it
}

// span is from the first to the last layer; the zero value is empty.
type span struct{ first, end int }

func (s *span) add(layer int) {
	if s.end == 0 {
		s.first = layer
	}
	s.end = layer + 1
}

// definitions finds the definitions that must be told apart. The result is nil if there are none.
func (r *records) definitions() (*definitions, error) {
	d := &definitions{records: r, apart: map[uint32]bool{}, listed: make([][]uint32, len(r.layers))}
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
			tags = append(tags, presence{})
		}
		p, layer := &tags[i], r.layerOf(id)
		if declared != 0 {
			p.declared.add(layer)
			p.fwd = id
		} else {
			p.defined.add(layer)
			p.ids = append(p.ids, id)
		}
		one := span{layer, layer + 1}
		if !p.apart && p.declared.end > 0 && p.defined.end > 0 && (p.declared != one || p.defined != one) {
			p.apart = true
			d.listed[layer] = append(d.listed[layer], p.fwd)
		}
	}
	for i := range tags {
		if p := &tags[i]; len(p.ids) > 1 || p.apart {
			for _, id := range p.ids {
				d.apart[id] = true
				d.listed[r.layerOf(id)] = append(d.listed[r.layerOf(id)], id)
			}
		}
	}
	if len(d.apart) == 0 {
		return nil, nil
	}
	return d, nil
}

// shape adds the types that refer to definitions by pins, and the definitions, to the graph. The
// result has their nodes by id, and 0 for the other types.
func (d *definitions) shape(order []uint32) ([]types.ID, error) {
	own := &shaper{records: d.with(types.New()),
		pin: func(id uint32, _ int, target uint32) (types.Hash, bool) {
			return pin.Provisional(uint64(target), d.layerOf(id)), d.apart[target]
		}}
	if err := own.shape(d.reach(order)); err != nil {
		return nil, err
	}
	defined := make([][]types.ID, len(d.listed))
	for layer, ids := range d.listed {
		for _, id := range ids {
			if t, _ := d.at(id); d.declared(t) != 0 {
				name, _ := own.name(t.NameOff)
				defined[layer] = append(defined[layer], own.g.Stub(d.declared(t), name))
			} else {
				defined[layer] = append(defined[layer], own.ids[id])
			}
		}
	}
	nodes, err := pin.Import(d.g, own.g, defined)
	if err != nil {
		return nil, err
	}
	for id, node := range own.ids {
		own.ids[id] = nodes[node]
	}
	return own.ids, nil
}

// reach returns the types that lead to a definition without a tag in between, the definitions
// themselves, and what the shapes of all these contain; children first.
func (d *definitions) reach(order []uint32) []uint32 {
	in := make([]bool, d.end)
	for _, id := range order {
		in[id] = d.apart[id]
		t, l := d.at(id)
		l.refs(t, func(child uint32) {
			if child != 0 && d.crosses(t, child) {
				in[id] = in[id] || d.apart[child]
			} else {
				in[id] = in[id] || in[child]
			}
		})
	}
	var list []uint32
	for i := len(order) - 1; i >= 0; i-- {
		id := order[i]
		if !in[id] {
			continue
		}
		t, l := d.at(id)
		l.refs(t, func(child uint32) { in[child] = in[child] || child != 0 && !d.crosses(t, child) })
	}
	for _, id := range order {
		if in[id] {
			list = append(list, id)
		}
	}
	return list
}
