package write

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

func (w *writer) arrange() {
	w.blob = &btf.Blob{Order: w.opt.Order, StartID: 1}
	if w.types.Base != nil {
		w.blob.StartID, w.blob.BaseStrLen = w.types.Base.Ends()
	}
	w.findContents()
	anonymous := &w.places.anonymous
	parallel.Do(w.opt.Jobs, 1+len(anonymous), func(i int) {
		if i == 0 {
			w.findStrings()
			return
		}
		anonymous[i-1] = w.sortAnonymous(anonymous[i-1])
	})
	w.chooseIDs()
}

// run is a run of the canonical order that one thread numbers and writes at a time: anonymous
// types, or the types with some names.
type run struct {
	anonymous []ranked
	names     []types.Str
	list      []Type // the types, in order
	length    uint64 // of their records, in bytes
	id        uint32 // of the first type
	offset    uint64 // where the records begin in the type section
	// own is the length of the blob's own strings among the names, and str the offset of the first.
	own, str uint64
}

// These are the maximum numbers of anonymous types and of names in a run.
const (
	runTypes = 1 << 11
	runNames = 1 << 12
)

// chooseIDs puts the types in the canonical order, and the strings in theirs.
// Rule: order of the types, ids. Source: kernel btf_check_sorted, btf_find_by_name_kind_bsearch;
// resolve_btfids sort_btf_by_name.
func (w *writer) chooseIDs() {
	for _, list := range w.places.anonymous {
		for some := range slices.Chunk(list, runTypes) {
			w.runs = append(w.runs, run{anonymous: some})
		}
	}
	for some := range slices.Chunk(w.strings.list, runNames) {
		w.runs = append(w.runs, run{names: some})
	}
	w.strings.offset = make([]uint32, w.shapes.Graph.Strs.Len())
	parallel.Do(w.opt.Jobs, len(w.runs), func(i int) {
		r := &w.runs[i]
		if r.names == nil {
			r.list = make([]Type, 0, len(r.anonymous))
			for _, t := range r.anonymous {
				r.put(t.typ, t.length)
			}
		} else {
			w.orderNamed(r)
			w.measureStrings(r)
		}
	})
	id, offset, str := w.blob.StartID, uint64(0), uint64(w.blob.BaseStrLen)
	if w.types.Base == nil {
		str++ // the empty name
	}
	for i := range w.runs {
		r := &w.runs[i]
		r.id, r.offset, r.str = id, offset, str
		id, offset, str = id+uint32(len(r.list)), offset+r.length, str+r.own
	}
	w.strings.length = int(str - uint64(w.blob.BaseStrLen))
}

// inOrder calls yield with each type that is written, in the canonical order.
func (w *writer) inOrder(yield func(Type) bool) {
	for i := range w.runs {
		for _, k := range w.runs[i].list {
			if !yield(k) {
				return
			}
		}
	}
}

func (r *run) put(k Type, length uint32) {
	r.list = append(r.list, k)
	r.length += uint64(length)
}

// orderNamed puts the types with the names of a run in order.
func (w *writer) orderNamed(r *run) {
	r.list = make([]Type, 0, len(r.names))
	type placed struct {
		place
		content types.Hash
	}
	var group []placed
	for _, name := range r.names {
		group = group[:0]
		for at := range w.places.named.Of(name) {
			group = append(group, placed{place: at})
		}
		if len(group) > 1 {
			for i := range group {
				group[i].content = w.content(group[i].typ)
			}
			slices.SortFunc(group, func(a, b placed) int {
				return cmp.Or(cmp.Compare(a.kind, b.kind), a.content.Cmp(b.content))
			})
		}
		for i := range group {
			r.put(group[i].typ, group[i].length)
		}
	}
}

// sortAnonymous sorts by content. The first bits of a content hash say roughly where it belongs.
func (w *writer) sortAnonymous(list []ranked) []ranked {
	for i := range list {
		if t := &list[i]; !w.types.IsFixed(t.typ) {
			t.content = w.content(t.typ).A
		}
	}
	byHash := func(a, b ranked) int {
		if a.content != b.content { // nearly always
			return cmp.Compare(a.content, b.content)
		}
		return w.content(a.typ).Cmp(w.content(b.typ))
	}
	if len(list) < 32 {
		slices.SortFunc(list, byHash)
		return list
	}
	width := bits.Len(uint(len(list) / 4))
	sorted, begin := types.Buckets(list, 1<<width,
		func(r ranked) uint32 { return uint32(r.content >> (64 - width)) })
	const some = 1 << 10 // buckets
	parallel.Do(w.opt.Jobs, (len(begin)+some-2)/some, func(part int) {
		for i := part * some; i < min((part+1)*some, len(begin)-1); i++ {
			slices.SortFunc(sorted[begin[i]:begin[i+1]], byHash)
		}
	})
	return sorted
}
