package write

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// emit writes the types in w.runs, and checks the names that the kernel checks.
func (w *writer) emit() ([]byte, error) {
	p := &w.places
	options := btf.EncodeOptions{Layout: w.opt.Layout && w.types.Base == nil}
	image, err := btf.NewImage(w.blob, p.types, p.length, w.strings.length, options)
	if err != nil {
		return nil, err
	}
	var refused atomic.Bool // the kernel doesn't accept some name
	parallel.Do(w.opt.Jobs, len(w.runs), func(i int) {
		r := &w.runs[i]
		for n, k := range r.list {
			w.ids[k] = r.id + uint32(n)
		}
		if !w.putStrings(image.Strings, r) {
			refused.Store(true)
		}
	})
	for i := range w.shapes.Tags.List { // a reference to a stub gets the id of the definition
		if s := w.shapes.Tags.List[i].Stub; s != 0 && w.types.Fixed(s) {
			w.ids[s] = w.ids[w.types.Of(s)]
		}
	}
	if len(p.tooLong) > 0 {
		k := slices.MinFunc(p.tooLong, func(a, b Type) int { return cmp.Compare(w.ids[a], w.ids[b]) })
		n, elems := w.node(k)
		return nil, btf.VlenError(w.ids[k], object.RecordKind(&n), w.shapes.Graph.Strs.String(n.Name),
			uint32(len(elems)))
	}
	if w.opt.CheckNames && refused.Load() {
		if err := w.checkNames(); err != nil {
			return nil, err
		}
	}
	parallel.Do(w.opt.Jobs, len(w.runs), func(i int) {
		records := image.Records(w.runs[i].offset)
		w.putAll(&records, w.runs[i].list)
	})
	return image.Finish(), nil
}

// putAll writes the records of types. References to fixed shapes have the numbers of their types.
// Rule: records of the BTF. Source: libbpf btf_commit_type.
func (w *writer) putAll(r *btf.Records, list []Type) {
	var nodes [64]types.Node
	for some := range slices.Chunk(list, len(nodes)) {
		// The nodes are scattered in memory. Copying many in one loop lets the loads overlap.
		for i, k := range some {
			if w.types.IsFixed(k) {
				nodes[i] = *w.types.Node(k)
			}
		}
		for i, k := range some {
			if n := &nodes[i]; w.types.IsFixed(k) {
				object.PutRecord(r, n, w.shapes.Graph.ElemsOf(n), w.strings.offset, w.ids)
			} else {
				n, elems := w.node(k)
				object.PutRecord(r, &n, elems, w.strings.offset, w.ids)
			}
		}
	}
}
