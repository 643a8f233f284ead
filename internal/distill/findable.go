package distill

import "github.com/rules-btf/rules_btf/internal/btf"

// canFind reports whether the kernel looks for types of t's kind.
func canFind(t *btf.Type) bool {
	switch t.Kind {
	case btf.KindInt, btf.KindFloat, btf.KindFwd, btf.KindEnum, btf.KindEnum64:
		return true
	}
	return isComposite(t)
}

// sameName lists the ids of the old base's types of a name that the kernel looks at.
func (d *distiller) sameName(name string) []uint32 {
	if d.byName == nil {
		d.byName = map[string][]uint32{}
		for _, b := range chain(d.src.Base) {
			for i := range b.Types {
				t := &b.Types[i]
				if name := b.TypeName(t); name != "" && canFind(t) {
					d.byName[name] = append(d.byName[name], b.StartID+uint32(i))
				}
			}
		}
	}
	return d.byName[name]
}

// chain lists b and its bases.
func chain(b *btf.Blob) (list []*btf.Blob) {
	for ; b != nil; b = b.Base {
		list = append(list, b)
	}
	return list
}

// findable reports whether the kernel, which knows only what the distilled base has of type id,
// would find that type and no other. btf_relocate_map_distilled_base (Linux 7.2) compares types of
// the same name. It requires equal sizes, except of forward declarations, and of structs and unions
// whose name only one struct or union has.
func (d *distiller) findable(id uint32, t *btf.Type) bool {
	list := d.sameName(d.src.TypeName(t))
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
		if other != id && (!sized || o.SizeOrType == size) && matches(t, o) {
			return false
		}
	}
	return true
}

// matches reports whether the kernel takes o, of the same name and size, for the distilled type t.
func matches(t, o *btf.Type) bool {
	switch t.Kind {
	case btf.KindFwd:
		// The kernel compares kind flags here even with those of structs and unions, where they mean
		// bitfields.
		return o.Kind == btf.KindFwd && o.KFlag == t.KFlag || o.Kind == btf.KindStruct && !o.KFlag ||
			o.Kind == btf.KindUnion && o.KFlag
	case btf.KindInt:
		return o.Kind == btf.KindInt && o.Extra>>24&0xf == t.Extra>>24&0xf
	case btf.KindFloat:
		return o.Kind == btf.KindFloat
	case btf.KindEnum, btf.KindEnum64:
		return o.Kind == btf.KindEnum || o.Kind == btf.KindEnum64
	}
	return true // for structs and unions it does not compare kinds
}

func isComposite(t *btf.Type) bool { return t.Kind == btf.KindStruct || t.Kind == btf.KindUnion }
