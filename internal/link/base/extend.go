package base

import (
	"fmt"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// With returns the chain f, extended by split BTF that is based on it. The chain must not contain
// index files. Only the parts of f to which the split BTF refers are read. f doesn't change, and
// must stay open while the result is in use.
// Rule: chain of bases: adding BTF without reading the bases again.
func (f *Files) With(split []byte) (*Files, error) {
	whole, err := f.Whole("split BTF on top of it")
	if err != nil {
		return nil, err
	}
	b, err := btf.Parse(split, whole.BTF)
	if err != nil {
		return nil, err
	}
	below, ok := f.Base.(*Chain)
	if !ok {
		c, err := Parse(b)
		return &Files{Base: c, Last: b, functions: NewFunctions(b, nil)}, err
	}
	top := &below.layers[len(below.layers)-1].header
	data, err := indexOnOutline(b, header{Below: top.BTF})
	if err != nil {
		return nil, err
	}
	c := &Chain{layers: slices.Clip(below.layers), target: below.target}
	return &Files{Base: c, Last: b, functions: NewFunctions(b, whole.Functions)}, c.push(data)
}

// indexOnOutline returns the index that build would return for the last BTF of a chain. It reads
// only an outline of the base, which is enough for shapes. The caller sets only the checksums in h.
func indexOnOutline(b *btf.Blob, h header) ([]byte, error) {
	o := outline{from: b, ids: map[uint32]uint32{0: 0}}
	if err := o.find(); err != nil {
		return nil, err
	}
	alone, err := o.copy()
	if err != nil {
		return nil, err
	}
	shapes, err := object.TypeShapes(alone)
	if err != nil {
		return nil, err
	}
	made := builder{shapes, &o}
	return made.index(b, h)
}

// outline turns split BTF into BTF without a base: first the needed base types (structs, unions and
// enums with a name only as declarations), then the split BTF's own types, in order.
type outline struct {
	from    *btf.Blob
	reached []uint32          // ids of the base types that are needed, ascending
	ids     map[uint32]uint32 // maps the ids in reached to the ids in the result
}

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
		if t := &o.from.Types[i]; !t.Kind.IsLocation() {
			look(o.from, t)
		}
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

// ref returns the id in the result of a type that is in it.
func (o *outline) ref(id uint32) uint32 {
	if id >= o.from.StartID {
		return id - o.from.StartID + uint32(len(o.reached)) + 1
	}
	return o.ids[id]
}

func isTag(t *btf.Type) bool {
	return t.NameOff != 0 && (t.Kind.IsComposite() || t.Kind.IsEnum())
}

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
	for _, id := range o.reached {
		t, in := o.from.ByID(id)
		if !isTag(t) {
			to.Copy(in, t, name, o.ref)
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
		t := &o.from.Types[i]
		if t.Kind.IsLocation() { // it has an id, but is not in the index
			to.Types = append(to.Types, btf.Type{Kind: t.Kind})
			continue
		}
		to.Copy(o.from, t, name, o.ref)
	}
	to.Strings = strings.String()
	return to, bad
}
