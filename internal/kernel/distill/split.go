package distill

import (
	"cmp"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// makeSplit makes the split BTF that is based on the distilled base, in canonical order: the types
// in src itself, and the types of the old base whose place is inSplit.
func (d *distiller) makeSplit(base *btf.Blob) (*btf.Blob, error) {
	list := d.placed(inSplit)
	for id := d.start; id < d.src.EndID(); id++ {
		list = append(list, id)
	}
	// In canonical order, types of the same name are sorted by content, which is known only after
	// they have been written. So write them twice.
	split := d.write(base, list)
	hashes, err := contents(base, split)
	if err != nil {
		return nil, err
	}
	byID := map[uint32]types.Hash{}
	for i, id := range list {
		byID[id] = hashes[i]
	}
	d.sort(list, byID)
	return d.write(base, list), nil
}

func contents(base, split *btf.Blob) ([]types.Hash, error) {
	o := object.New(object.Target{}, 0)
	nodes, err := o.AddBTF(base, split)
	if err != nil {
		return nil, err
	}
	hashes := make([]types.Hash, len(split.Types))
	for i := range hashes {
		hashes[i] = o.Graph.Node(nodes[split.StartID+uint32(i)]).Hash
	}
	return hashes, nil
}

// sort sorts types by name, kind and content hash. contents may be nil if all names are unique.
func (d *distiller) sort(list []uint32, contents map[uint32]types.Hash) {
	slices.SortStableFunc(list, func(a, b uint32) int {
		x, _ := d.src.ByID(a)
		y, _ := d.src.ByID(b)
		if c := cmp.Or(cmp.Compare(d.src.TypeName(x), d.src.TypeName(y)),
			cmp.Compare(x.Kind, y.Kind)); c != 0 {
			return c
		}
		return contents[a].Cmp(contents[b])
	})
}

func (d *distiller) write(base *btf.Blob, list []uint32) *btf.Blob {
	w := btf.NewBuilder(d.src.Order, base, nil)
	for i, id := range list {
		d.ids[id] = base.EndID() + uint32(i)
	}
	d.addNames(w, list)
	name := func(off uint32) uint32 {
		s, _ := d.src.Name(off)
		return w.Name(s)
	}
	ref := func(id uint32) uint32 { return d.ids[id] }
	for _, id := range list {
		t, from := d.src.ByID(id)
		w.Blob.Copy(from, t, name, ref)
	}
	w.Blob.SortSites()
	return w.Finish()
}

// addNames adds the names of the listed types in canonical order, that is, sorted.
func (d *distiller) addNames(w *btf.Builder, list []uint32) {
	seen := map[uint32]bool{0: true}
	var names []string
	for _, id := range list {
		t, from := d.src.ByID(id)
		for off := range from.Names(t) {
			if !seen[off] {
				seen[off] = true
				s, _ := d.src.Name(off)
				names = append(names, s)
			}
		}
	}
	slices.Sort(names)
	for _, s := range names {
		w.Name(s)
	}
}
