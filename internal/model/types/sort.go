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
	keys := make([]stringKey, len(list))
	for i, id := range list {
		keys[i].str = id
	}
	if parallel == nil || len(keys) < 1<<14 {
		s.sort(keys)
	} else {
		var begin []uint32
		keys, begin = Buckets(keys, 1<<8, func(k stringKey) uint32 { return uint32(s.Bytes(k.str)[0]) })
		parallel(1<<8, func(first int) {
			s.sort(keys[begin[first]:begin[first+1]])
		})
	}
	for i := range keys {
		list[i] = keys[i].str
	}
}

type stringKey struct {
	word uint64 // the first eight bytes of the string, big-endian
	str  Str
}

// word returns the first eight bytes of b, padded with zeros if b is shorter.
func word(b []byte) uint64 {
	var w [8]byte
	copy(w[:], b)
	return binary.BigEndian.Uint64(w[:])
}

// sort sorts strings by their words, then by the bytes that follow.
func (s *Strings) sort(keys []stringKey) {
	for i := range keys {
		keys[i].word = word(s.Bytes(keys[i].str))
	}
	slices.SortFunc(keys, func(a, b stringKey) int {
		if a.word != b.word {
			return cmp.Compare(a.word, b.word)
		}
		return bytes.Compare(s.Bytes(a.str), s.Bytes(b.str))
	})
}
