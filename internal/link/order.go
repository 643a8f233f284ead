package link

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/types"
)

// The final order: unnamed types first, then by name; then by kind, then by content.

// arrange chooses the ids and the strings' offsets: it fills l.puts, l.chunks and l.ids, and l.strs
// with the strings that are needed, in order, and l.offset.
func (l *linker) arrange() {
	l.blob = &btf.Blob{Order: l.order, StartID: 1, Base: l.base.blob}
	if b := l.base.blob; b != nil {
		l.blob.StartID, l.blob.BaseStrLen = b.EndID(), b.EndStr()
	}
	l.colourInstances()
	unnamed := &l.places.unnamed
	parallel(l.jobs, 1+len(unnamed), func(i int) {
		if i == 0 {
			l.findStrings()
			return
		}
		l.sortUnnamed(&unnamed[i-1])
	})
	last := []func(){l.chooseIDs, l.placeStrings}
	parallel(l.jobs, len(last), func(i int) { last[i]() })
}

// chooseIDs puts the types in order.
func (l *linker) chooseIDs() {
	p := &l.places
	l.puts = make([]final, 0, p.types)
	id, offset := l.blob.StartID, uint64(0)
	put := func(f final, length uint32) {
		if len(l.puts)%chunkTypes == 0 {
			l.chunks = append(l.chunks, offset)
		}
		l.puts = append(l.puts, f)
		l.ids[f] = id
		id++
		offset += uint64(length)
	}
	for kind := range p.unnamed {
		for _, t := range p.unnamed[kind] {
			put(t.final, t.length)
		}
	}
	type namesake struct {
		kind  btf.Kind
		hash  types.Hash
		final final
	}
	var group []namesake
	for _, name := range l.strs {
		f := p.first[name]
		if f == 0 {
			continue
		}
		if p.list[f].next == 0 {
			put(f, p.list[f].length)
			continue
		}
		group = group[:0]
		for ; f != 0; f = p.list[f].next {
			group = append(group, namesake{l.kindOf(f), l.hashOf(f), f})
		}
		slices.SortFunc(group, func(a, b namesake) int {
			if a.kind != b.kind {
				return cmp.Compare(a.kind, b.kind)
			}
			return a.hash.Cmp(b.hash)
		})
		for i := range group {
			put(group[i].final, p.list[group[i].final].length)
		}
	}
	for i := range l.tags.list { // by which id stubs are referred to
		if s := l.tags.list[i].stub; s != 0 && l.role[s] == plain {
			l.ids[s] = l.ids[l.types[s]]
		}
	}
}

// chunkTypes is how many types are written at a time.
const chunkTypes = 1 << 13

func (l *linker) kindOf(f final) btf.Kind {
	if m := l.madeAt(f); m != nil {
		return btf.Kind(m.kind)
	}
	return writtenKind(&l.nodes[l.nodeOf(f)])
}

// sortUnnamed sorts unnamed types of a kind.
func (l *linker) sortUnnamed(list *[]place) {
	for i := range *list {
		if t := &(*list)[i]; int(t.final) >= len(l.nodes) {
			t.hash = l.hashOf(t.final)
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
