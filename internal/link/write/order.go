package write

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/parallel"
	"github.com/rules-btf/rules_btf/internal/types"
)

// arrange chooses the ids and the strings' offsets.
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

// chooseIDs puts the types in order.
func (w *writer) chooseIDs() {
	p := &w.places
	w.list = make([]Type, 0, p.types)
	id, offset := w.blob.StartID, uint64(0)
	put := func(k Type, length uint32) {
		if len(w.list)%chunkTypes == 0 {
			w.chunks = append(w.chunks, offset)
		}
		w.list = append(w.list, k)
		w.ids[k] = id
		id++
		offset += uint64(length)
	}
	for kind := range p.anonymous {
		for _, t := range p.anonymous[kind] {
			put(t.typ, t.length)
		}
	}
	type namesake struct {
		kind btf.Kind
		hash types.Hash
		typ  Type
	}
	var group []namesake
	for _, name := range w.strings.list {
		k := p.first[name]
		if k == 0 {
			continue
		}
		if p.list[k].next == 0 {
			put(k, p.list[k].length)
			continue
		}
		group = group[:0]
		for ; k != 0; k = p.list[k].next {
			group = append(group, namesake{w.kindOf(k), w.content(k), k})
		}
		slices.SortFunc(group, func(a, b namesake) int {
			if a.kind != b.kind {
				return cmp.Compare(a.kind, b.kind)
			}
			return a.hash.Cmp(b.hash)
		})
		for i := range group {
			put(group[i].typ, p.list[group[i].typ].length)
		}
	}
	for i := range w.Tags.List { // by which id stubs are referred to
		if s := w.Tags.List[i].Stub; s != 0 && w.Fixed(s) && w.Of(s) != Type(s) {
			w.ids[s] = w.ids[w.Of(s)]
		}
	}
}

// chunkTypes is how many types are written at a time.
const chunkTypes = 1 << 13

func (w *writer) kindOf(k Type) btf.Kind {
	if m := w.madeAt(k); m != nil {
		return btf.Kind(m.Kind)
	}
	return writtenKind(w.Node(k))
}

// sortAnonymous sorts the anonymous types of a kind.
func (w *writer) sortAnonymous(list *[]place) {
	for i := range *list {
		if t := &(*list)[i]; int(t.typ) >= len(w.Nodes) {
			t.hash = w.content(t.typ)
		}
	}
	*list = sortPlaces(*list)
}

// sortPlaces sorts by content. Hashes are spread evenly: their first bits tell nearly where each
// belongs.
func sortPlaces(list []place) []place {
	byHash := func(a, b place) int { return a.hash.Cmp(b.hash) }
	if len(list) < 32 {
		slices.SortFunc(list, byHash)
		return list
	}
	width := bits.Len(uint(len(list) / 4))
	at := make([]uint32, 1<<width+1)
	shift := 64 - width
	for i := range list {
		at[list[i].hash.A>>shift+1]++
	}
	for i := 1; i < len(at); i++ {
		at[i] += at[i-1]
	}
	sorted := make([]place, len(list))
	for i := range list {
		d := list[i].hash.A >> shift
		sorted[at[d]] = list[i]
		at[d]++
	}
	start := uint32(0)
	for _, end := range at[:len(at)-1] {
		if end-start > 1 {
			slices.SortFunc(sorted[start:end], byHash)
		}
		start = end
	}
	return sorted
}
