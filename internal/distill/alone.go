package distill

import "github.com/rules-btf/rules_btf/internal/btf"

// index lists the named types of the old base that a name may be found as, by name.
type index map[string][]uint32

func (d *distiller) index() index {
	if d.same != nil {
		return d.same
	}
	d.same = index{}
	for _, b := range chain(d.src.Base) {
		for i := range b.Types {
			t := &b.Types[i]
			switch t.Kind {
			case btf.KindInt, btf.KindFloat, btf.KindFwd, btf.KindStruct, btf.KindUnion, btf.KindEnum, btf.KindEnum64:
				if name := b.TypeName(t); name != "" {
					d.same[name] = append(d.same[name], b.StartID+uint32(i))
				}
			}
		}
	}
	return d.same
}

// chain lists b and its bases.
func chain(b *btf.Blob) (list []*btf.Blob) {
	for ; b != nil; b = b.Base {
		list = append(list, b)
	}
	return list
}

// alone tells whether the kernel would find type id of the old base, and nothing else, by what the
// distilled base says of it. It looks for types of the same name as btf_relocate_map_distilled_base
// does, in Linux 7.2: sizes have to agree except for forward declarations, and for structs and
// unions whose name is that of one only.
func (d *distiller) alone(id uint32, t *btf.Type) bool {
	list := d.index()[d.src.TypeName(t)]
	composites := 0
	for _, other := range list {
		if o, _ := d.src.ByID(other); isComposite(o) {
			composites++
		}
	}
	size := t.SizeOrType
	for _, other := range list {
		o, _ := d.src.ByID(other)
		sized := o.Kind != btf.KindFwd && (!isComposite(o) || composites > 1)
		if other != id && (!sized || o.SizeOrType == size) && found(t, o) {
			return false
		}
	}
	return true
}

// found tells whether the kernel takes o, of the same name and size, for the distilled type t.
func found(t, o *btf.Type) bool {
	switch t.Kind {
	// a struct's kind flag says that it has bitfields; the kernel reads it as that of a union all
	// the same
	case btf.KindFwd:
		return o.Kind == btf.KindFwd && o.KFlag == t.KFlag || o.Kind == btf.KindStruct && !o.KFlag ||
			o.Kind == btf.KindUnion && o.KFlag
	case btf.KindInt:
		return o.Kind == btf.KindInt && o.Extra>>24&0xf == t.Extra>>24&0xf
	case btf.KindFloat:
		return o.Kind == btf.KindFloat
	case btf.KindEnum, btf.KindEnum64:
		return o.Kind == btf.KindEnum || o.Kind == btf.KindEnum64
	}
	return true // it doesn't look at the kind of what it takes for a struct
}

func isComposite(t *btf.Type) bool { return t.Kind == btf.KindStruct || t.Kind == btf.KindUnion }
