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
	if w.Base != nil {
		w.blob.StartID, w.blob.BaseStrLen = w.Base.Ends()
	}
	w.findContents()
	anonymous := &w.places.anonymous
	parallel.Do(w.opt.Jobs, 1+len(anonymous), func(i int) {
		if i == 0 {
			w.findStrings()
			return
		}
		w.sortAnonymous(&anonymous[i-1])
	})
	parallel.All(w.opt.Jobs, w.chooseIDs, w.placeStrings)
}

// chooseIDs puts the types in the canonical order.
func (w *writer) chooseIDs() {
	p := &w.places
	w.list = make([]Type, 0, p.types)
	id, offset := w.blob.StartID, uint64(0)
	put := func(list []ranked) {
		for i := range list {
			if len(w.list)%chunkTypes == 0 {
				w.chunks = append(w.chunks, offset)
			}
			k := list[i].typ
			w.list = append(w.list, k)
			w.ids[k] = id
			id++
			offset += uint64(list[i].length)
		}
	}
	for kind := range p.anonymous {
		put(p.anonymous[kind])
	}
	var group []ranked
	for _, name := range w.strings.list {
		group = group[:0]
		for at := range p.named.Of(name) {
			group = append(group, ranked{place: at})
		}
		if len(group) > 1 {
			for i := range group {
				group[i].hash = w.content(group[i].typ)
			}
			slices.SortFunc(group, func(a, b ranked) int {
				return cmp.Or(cmp.Compare(a.kind, b.kind), a.hash.Cmp(b.hash))
			})
		}
		put(group)
	}
	for i := range w.Tags.List { // a reference to a stub gets the id of the definition
		if s := w.Tags.List[i].Stub; s != 0 && w.Fixed(s) && w.Of(s) != Type(s) {
			w.ids[s] = w.ids[w.Of(s)]
		}
	}
}

// chunkTypes is how many types are written at a time.
const chunkTypes = 1 << 13

func (w *writer) sortAnonymous(list *[]ranked) {
	for i := range *list {
		if t := &(*list)[i]; int(t.typ) >= len(w.Nodes) {
			t.hash = w.content(t.typ)
		}
	}
	*list = sortRanked(*list, w.opt.Jobs)
}

// sortRanked sorts by content. The first bits of a content hash say roughly where it belongs.
func sortRanked(list []ranked, jobs int) []ranked {
	byHash := func(a, b ranked) int { return a.hash.Cmp(b.hash) }
	if len(list) < 32 {
		slices.SortFunc(list, byHash)
		return list
	}
	width := bits.Len(uint(len(list) / 4))
	sorted, begin := types.Buckets(list, 1<<width,
		func(r ranked) uint32 { return uint32(r.hash.A >> (64 - width)) })
	const some = 1 << 10 // buckets
	parallel.Do(jobs, (len(begin)+some-2)/some, func(part int) {
		for i := part * some; i < min((part+1)*some, len(begin)-1); i++ {
			slices.SortFunc(sorted[begin[i]:begin[i+1]], byHash)
		}
	})
	return sorted
}
