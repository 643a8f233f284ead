package object

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// FromBTF returns an object with a unit for each blob. The blobs must not depend on each other;
// those that are concatenated in a .BTF section don't. They must not have sites of inlined
// functions. The bases of a split blob become units too; their shapes don't depend on the split
// blob. The blobs determine t.Order, and t.AddrSize if that is 0.
// Rule: raw BTF, read as a BTF object. Source: libbpf btf__new.
func FromBTF(t Target, blobs ...*btf.Blob) (*Object, error) {
	o := New(t, 0)
	for i, b := range blobs {
		if order := byteOrder(b); i > 0 && order != o.Target.Order {
			return nil, fmt.Errorf("BTF: blob %d is %v, but the one before it is %v", i+1, order,
				o.Target.Order)
		}
		if _, err := o.addLinked(b); err != nil {
			if len(blobs) > 1 {
				err = fmt.Errorf("blob %d of %d: %w", i+1, len(blobs), err)
			}
			return nil, err
		}
	}
	return o, nil
}

// FromBlob is FromBTF for one blob. It also returns the node of each BTF id, as AddBTF does. The
// last unit is that of the blob itself.
func FromBlob(t Target, b *btf.Blob) (*Object, []types.ID, error) {
	o := New(t, 0)
	ids, err := o.addLinked(b)
	return o, ids, err
}

func (o *Object) addLinked(b *btf.Blob) ([]types.ID, error) {
	o.Target.Order = byteOrder(b)
	if b.Header.LayoutLen != 0 {
		o.Features = features.Layout
	}
	if o.Target.AddrSize == 0 {
		o.Target.AddrSize = int(b.PointerSize())
	}
	if err := noLocations(b); err != nil {
		return nil, err
	}
	ids, err := o.addChain(Chain(b), true)
	if err != nil {
		return nil, err
	}
	return ids, endlessIn(b)
}

// Chain returns b and its bases, the lowest base first.
func Chain(b *btf.Blob) []*btf.Blob {
	var chain []*btf.Blob
	for ; b != nil; b = b.Base {
		chain = append(chain, b)
	}
	slices.Reverse(chain)
	return chain
}

// AddBTF appends a unit for each blob of a chain (see Chain) to o.Units, even if an equal unit is
// already there. It returns the node of each BTF id in the chain; for a FWD or an enum without
// enumerators, that is the stub; for a location, it is 0. Two other ids have the same node if their
// types are equal, or differ only in whether they declare or define a tag.
//
// If the chain has several different definitions of a tag, or defines it in one blob and declares
// it in another, the stubs that refer to its definitions are pinned.
func (o *Object) AddBTF(chain ...*btf.Blob) ([]types.ID, error) {
	ids, err := o.addChain(chain, false)
	if err != nil {
		return nil, err
	}
	return ids, endlessIn(chain[len(chain)-1])
}

// addChain is AddBTF without the check that no type contains itself (endlessIn). If bases is set,
// only the definitions in a blob and its bases decide which of the blob's stubs are pinned. So the
// shapes of a base don't depend on the BTF that is based on it.
func (o *Object) addChain(chain []*btf.Blob, bases bool) ([]types.ID, error) {
	ids, err := addShapes(o.Graph, chain, bases)
	if err != nil {
		return nil, err
	}
	for _, b := range chain {
		items := slices.Clone(ids[b.StartID:b.EndID()])
		slices.Sort(items)
		items = slices.Compact(items)
		if len(items) > 0 && items[0] == 0 { // locations
			items = items[1:]
		}
		o.Units = append(o.Units, Unit{FromBTF: true, Count: 1, Items: items})
	}
	return ids, nil
}

func addShapes(g *types.Graph, chain []*btf.Blob, bases bool) ([]types.ID, error) {
	r, err := newRecords(g, chain)
	if err != nil {
		return nil, err
	}
	order, err := r.childrenFirst()
	if err != nil {
		return nil, err
	}
	d, err := r.definitions(bases)
	if err != nil {
		return nil, err
	}
	s := &shaper{records: r}
	if d != nil {
		if s.ids, err = d.shape(order); err != nil {
			return nil, fmt.Errorf("BTF: %w", err)
		}
	}
	s.pin = func(_, _, _ uint32) (types.Hash, bool) { return types.Hash{}, false }
	if err := s.shape(order); err != nil {
		return nil, err
	}
	return s.ids, nil
}

func byteOrder(b *btf.Blob) binary.ByteOrder {
	if b.Order == nil {
		return binary.LittleEndian
	}
	return b.Order
}
