package link

import (
	"cmp"
	"slices"

	"github.com/rules-btf/rules_btf/internal/types"
)

// put is a type that is written, with its place in the order: unnamed types first, then by name; then by kind, then by
// content.
type put struct {
	place uint64 // the name's rank << 8 | kind
	hash  types.Hash
	final final
}

// arrange chooses the ids: it fills l.puts and l.ids.
func (l *linker) arrange() {
	first := uint32(1)
	if l.base.blob != nil {
		first = l.base.blob.EndID()
	}
	l.ids = make([]uint32, len(l.keep))
	l.rankNames()
	for f := range l.keep {
		if !l.keep[f] {
			continue
		}
		if id := l.baseID(final(f)); id != 0 {
			l.ids[f] = id
			continue
		}
		p := put{final: final(f)}
		var name types.Str
		var kind types.Kind
		switch i := f - len(l.nodes); {
		case i < 0:
			n := &l.nodes[f]
			name, kind, p.hash = n.Name, n.Kind, n.Hash
		case i < len(l.inst.list):
			n := &l.nodes[l.inst.list[i].node]
			name, kind = n.Name, n.Kind
		default:
			m := l.madeAt(p.final)
			name, kind = m.name, m.kind
		}
		if kind == types.KindStub {
			kind = types.KindFwd
			if types.Tag(l.nodes[l.nodeOf(p.final)].Aux) == types.TagEnum {
				kind = types.KindEnum
			}
		}
		p.place = uint64(l.rank[name])<<8 | uint64(kind)
		l.puts = append(l.puts, p)
	}
	l.colourInstances()
	l.colourMade()
	l.sortOrder()
	for i := range l.puts {
		l.ids[l.puts[i].final] = first + uint32(i)
	}
}

// sortOrder sorts l.puts: into buckets of equal names first, which are small but for the unnamed.
func (l *linker) sortOrder() {
	at := make([]uint32, len(l.strs)+2)
	for i := range l.puts {
		at[l.puts[i].place>>8+2]++
	}
	for i := 2; i < len(at); i++ {
		at[i] += at[i-1]
	}
	sorted := make([]put, len(l.puts))
	for i := range l.puts {
		k := l.puts[i].place>>8 + 1
		sorted[at[k]] = l.puts[i]
		at[k]++
	}
	for name := range l.strs {
		if bucket := sorted[at[name]:at[name+1]]; len(bucket) > 1 {
			slices.SortFunc(bucket, func(a, b put) int {
				if a.place != b.place {
					return cmp.Compare(a.place, b.place)
				}
				return a.hash.Cmp(b.hash)
			})
		}
	}
	l.puts = sorted
}

// rankNames collects the strings that the kept types need and sorts them: l.strs, and for each string its index there.
func (l *linker) rankNames() {
	l.rank = make([]uint32, l.g.Strs.Len())
	l.strs = append(l.strs[:0], 0)
	add := func(s types.Str) {
		if s != 0 && l.rank[s] == 0 {
			l.rank[s] = 1
			l.strs = append(l.strs, s)
		}
	}
	for f, keep := range l.keep {
		if !keep || l.baseID(final(f)) != 0 {
			continue
		}
		if m := l.madeAt(final(f)); m != nil {
			add(m.name)
			for _, e := range m.elems {
				add(e.name)
			}
			continue
		}
		n := &l.nodes[l.nodeOf(final(f))]
		add(n.Name)
		for _, e := range l.g.Elems[n.First : n.First+n.Count] {
			add(e.Name)
		}
	}
	sortStrings(&l.g.Strs, l.strs[1:])
	for i, s := range l.strs {
		l.rank[s] = uint32(i)
	}
}
