package types

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// Sort sorts distinct strings bytewise. The function parallel must call do for each part from 0 to
// parts-1, on any threads; if it is nil, Sort uses one thread.
func (s *Strings) Sort(list []Str, parallel func(parts int, do func(part int))) {
	if len(list) < 1<<12 {
		s.sort(list, list, make([]stringKey, len(list)), 0)
		return
	}
	const prefix, parts = 2, 1 << 6
	from, begin := Buckets(list, 1<<(8*prefix), func(id Str) uint32 {
		return uint32(word(s.Bytes(id)) >> (64 - 8*prefix))
	})
	// Each part has some buckets, with about the same number of strings as other parts.
	first := func(part int) int {
		bucket, _ := slices.BinarySearch(begin, uint32(len(list)*part/parts))
		return bucket
	}
	sortPart := func(part int) {
		b, end := first(part), first(part+1)
		keys := make([]stringKey, begin[end]-begin[b])
		for ; b < end; b++ {
			if i, j := begin[b], begin[b+1]; i < j {
				s.sort(list[i:j], from[i:j], keys[:j-i], prefix)
			}
		}
	}
	if parallel != nil {
		parallel(parts, sortPart)
		return
	}
	for part := range parts {
		sortPart(part)
	}
}

type stringKey struct {
	word uint64 // eight bytes of the string, big-endian
	str  Str
}

// word returns the first eight bytes of b, padded with zeros if b is shorter.
func word(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var w [8]byte
	copy(w[:], b)
	return binary.BigEndian.Uint64(w[:])
}

// sort fills list with the strings of the list from, sorted. These strings have the same first
// bytes; prefix says how many. They are sorted by the next eight bytes, then by those that follow.
func (s *Strings) sort(list, from []Str, keys []stringKey, prefix int) {
	for i, id := range from {
		b := s.Bytes(id)
		keys[i] = stringKey{word(b[min(prefix, len(b)):]), id}
	}
	slices.SortFunc(keys, func(a, b stringKey) int {
		if a.word != b.word {
			return cmp.Compare(a.word, b.word)
		}
		return bytes.Compare(s.Bytes(a.str), s.Bytes(b.str))
	})
	for i := range keys {
		list[i] = keys[i].str
	}
}
