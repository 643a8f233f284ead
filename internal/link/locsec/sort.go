package locsec

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/rules-btf/rules_btf/internal/convert/inlines"
)

// Locations has the locations and the protos of sites, in the order in which they are written.
type Locations struct {
	in        *inlines.Sites
	locations []uint32 // the used locations in order
	location  []uint32 // by location: its rank + 1; 0 if it isn't used
	protos    []uint32 // the used protos in order
	proto     []uint32 // by proto: its rank
}

// Sort sorts the locations and the protos of sites by content.
func Sort(s *inlines.Sites) *Locations {
	l := &Locations{in: s, proto: make([]uint32, s.Protos())}
	used := make([]bool, s.Protos())
	for i := range s.Units {
		list := s.Units[i].List
		for k := range list {
			used[list[k].Proto] = true
		}
	}
	for p := range used {
		if used[p] {
			l.protos = append(l.protos, uint32(p))
		}
	}
	l.sortLocations()
	l.sortProtos()
	return l
}

func (l *Locations) sortLocations() {
	list := l.in.Locations
	l.location = make([]uint32, len(list))
	for _, p := range l.protos {
		for _, n := range l.in.Proto(p) {
			if n != 0 && l.location[n-1] == 0 {
				l.location[n-1] = 1
				l.locations = append(l.locations, n-1)
			}
		}
	}
	slices.SortFunc(l.locations, func(x, y uint32) int { return list[x].Compare(&list[y]) })
	for rank, n := range l.locations {
		l.location[n] = uint32(rank) + 1
	}
}

// sortProtos sorts the protos by the number of parameters, then by the ranks of the locations. The
// number and the first ranks are the sort key, as far as they fit.
func (l *Locations) sortProtos() {
	longest := 0
	for _, p := range l.protos {
		longest = max(longest, len(l.in.Proto(p)))
	}
	width := max(1, bits.Len(uint(len(l.locations))))
	inKey := (64 - bits.Len(uint(longest))) / width
	type keyed struct {
		key   uint64
		proto uint32
	}
	list := make([]keyed, len(l.protos))
	for i, p := range l.protos {
		params := l.in.Proto(p)
		key := uint64(len(params))
		for n := range inKey {
			if key <<= width; n < len(params) {
				key |= uint64(l.rank(params[n]))
			}
		}
		list[i] = keyed{key, p}
	}
	slices.SortFunc(list, func(x, y keyed) int {
		if x.key != y.key {
			return cmp.Compare(x.key, y.key)
		}
		p, q := l.in.Proto(x.proto), l.in.Proto(y.proto)
		for i := inKey; i < len(p); i++ {
			if p[i] != q[i] {
				return cmp.Compare(l.rank(p[i]), l.rank(q[i]))
			}
		}
		return 0
	})
	for rank := range list {
		l.protos[rank] = list[rank].proto
		l.proto[list[rank].proto] = uint32(rank)
	}
}

// rank returns the rank + 1 of a location in a proto, or 0 if the location isn't known.
func (l *Locations) rank(n uint32) uint32 {
	if n == 0 {
		return 0
	}
	return l.location[n-1]
}
