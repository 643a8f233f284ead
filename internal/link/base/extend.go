package base

import (
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// With returns the chain with one more BTF on it, split BTF that was made on f. No index may be in
// the chain. It does not read the whole of f again, but what the split BTF refers to; f stays as it
// is, and must not be closed before the result is used.
func (f *Files) With(split []byte) (*Files, error) {
	if err := f.NeedBTF("other BTF on it"); err != nil {
		return nil, err
	}
	b, err := btf.Parse(split, f.BTF)
	if err != nil {
		return nil, err
	}
	below, ok := f.Base.(*Chain)
	if !ok {
		c, err := Parse(b)
		return &Files{Base: c, BTF: b}, err
	}
	top := &below.layers[len(below.layers)-1].header
	data, err := indexOnOutline(b, header{Below: top.BTF})
	if err != nil {
		return nil, err
	}
	c := &Chain{layers: slices.Clip(below.layers), machine: below.machine}
	return &Files{Base: c, BTF: b}, c.push(data)
}

// indexOnOutline is the index that build makes of the last BTF of a chain. Of the header only the
// checksums are given. An index has the shapes of types, for which no more of the base is needed
// than an outline.
func indexOnOutline(b *btf.Blob, h header) ([]byte, error) {
	o := outline{from: b, ids: map[uint32]uint32{0: 0}}
	if err := o.find(); err != nil {
		return nil, err
	}
	x := &object.Object{Graph: types.New()}
	alone, err := o.copy()
	if err != nil {
		return nil, err
	}
	nodes, err := x.AddBTF(alone)
	if err != nil {
		return nil, err
	}
	made := builder{g: x.Graph, shapes: x.Graph.Unpinned(), leads: x.Graph.Leads(),
		nodes: make([]types.ID, b.EndID())}
	for i, id := range o.reached {
		made.nodes[id] = nodes[i+1]
	}
	copy(made.nodes[b.StartID:], nodes[len(o.reached)+1:])
	return made.index(b, h)
}

// outline makes BTF without a base of split BTF: what it refers to comes first, a struct, union or
// enum with a name as its declaration; then come its own types, in their order.
type outline struct {
	from    *btf.Blob
	reached []uint32          // ids of the base's types that are wanted, ascending
	ids     map[uint32]uint32 // in the result, of these
}

// find finds the types of the base that are wanted.
func (o *outline) find() error {
	var next []uint32
	var missing error
	look := func(in *btf.Blob, t *btf.Type) {
		for r := range in.Refs(t) {
			if _, ok := o.ids[*r]; ok || *r >= o.from.StartID {
				continue
			}
			if x, _ := o.from.ByID(*r); x == nil {
				missing = fmt.Errorf("BTF: a type refers to [%d], which does not exist", *r)
				continue
			}
			o.ids[*r] = 0
			next = append(next, *r)
		}
	}
	for i := range o.from.Types {
		look(o.from, &o.from.Types[i])
	}
	for len(next) > 0 {
		id := next[len(next)-1]
		next = next[:len(next)-1]
		o.reached = append(o.reached, id)
		if t, in := o.from.ByID(id); !isTag(t) {
			look(in, t)
		}
	}
	slices.Sort(o.reached)
	for i, id := range o.reached {
		o.ids[id] = uint32(i) + 1
	}
	return missing
}

// isTag reports whether a type is a definition or declaration of a tag.
func isTag(t *btf.Type) bool {
	return t.NameOff != 0 && (t.Kind.IsComposite() || t.Kind.IsEnum())
}

// copy makes the BTF.
func (o *outline) copy() (*btf.Blob, error) {
	strings := btf.NewStringTable(nil)
	to := &btf.Blob{Order: o.from.Order, StartID: 1}
	var bad error
	name := func(off uint32) uint32 {
		s, err := o.from.Name(off)
		if err != nil {
			bad = fmt.Errorf("BTF: %w", err)
		}
		return strings.Add(s)
	}
	ref := func(id uint32) uint32 {
		if id >= o.from.StartID {
			return id - o.from.StartID + uint32(len(o.reached)) + 1
		}
		return o.ids[id]
	}
	for _, id := range o.reached {
		t, in := o.from.ByID(id)
		if !isTag(t) {
			to.Copy(in, t, name, ref)
			continue
		}
		declared := btf.Type{Kind: t.Kind, NameOff: name(t.NameOff), SizeOrType: t.SizeOrType}
		if t.Kind.IsComposite() {
			declared = btf.Type{Kind: btf.KindFwd, NameOff: declared.NameOff,
				KFlag: t.Kind == btf.KindUnion}
		}
		to.Types = append(to.Types, declared)
	}
	for i := range o.from.Types {
		to.Copy(o.from, &o.from.Types[i], name, ref)
	}
	to.Strings = strings.String()
	return to, bad
}
