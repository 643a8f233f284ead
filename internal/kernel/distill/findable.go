package distill

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
)

// sameName lists the ids of the old base's types of a name that the kernel looks at.
func (d *distiller) sameName(name string) []uint32 {
	if d.byName == nil {
		d.byName = map[string][]uint32{}
		for _, b := range chain(d.src.Base) {
			for i := range b.Types {
				t := &b.Types[i]
				if name := b.TypeName(t); name != "" && relocate.Looks(t) {
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
// would find that type and no other.
func (d *distiller) findable(id uint32, t *btf.Type) bool {
	list := d.sameName(d.src.TypeName(t))
	composites := 0
	for _, other := range list {
		if o, _ := d.src.ByID(other); o.Kind.IsComposite() {
			composites++
		}
	}
	distilled := *t
	if t.Kind == btf.KindEnum64 {
		distilled.Kind = btf.KindEnum
	}
	for _, other := range list {
		o, _ := d.src.ByID(other)
		if other != id && relocate.Matches(&distilled, o, composites > 1) {
			return false
		}
	}
	return true
}
