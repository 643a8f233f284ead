package distill

import (
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
)

// sameName lists the types of the old base that have this name and a kind that the kernel looks up.
func (d *distiller) sameName(name string) []uint32 {
	if d.byName == nil {
		d.byName = map[string][]uint32{}
		for id, t := range d.src.Base.All() {
			if name := d.src.TypeName(t); name != "" && relocate.Looks(t) {
				d.byName[name] = append(d.byName[name], id)
			}
		}
	}
	return d.byName[name]
}

// findable reports whether the kernel, when it looks up the distilled form of t, finds only t, the
// type with the given id.
// Rule: distilled base: types that the kernel can find again.
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
