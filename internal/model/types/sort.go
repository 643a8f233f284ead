package types

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// Sort sorts different strings bytewise: into buckets by two bytes, then each bucket. parallel
// calls do for each part from 0 on, on several threads; nil: there is one.
func (s *Strings) Sort(list []Str, parallel func(parts int, do func(part int))) {
	keys := make([]stringKey, len(list))
	for i, id := range list {
		keys[i] = stringKey{firstWord(s.Bytes(id)), id}
	}
	compare := func(a, b stringKey) int {
		if a.word != b.word {
			return cmp.Compare(a.word, b.word)
		}
		return bytes.Compare(s.Bytes(a.str), s.Bytes(b.str))
	}
	if len(keys) < 1<<8 {
		slices.SortFunc(keys, compare)
	} else {
		var begin []uint32
		keys, begin = Buckets(keys, 1<<16, func(k stringKey) uint32 { return uint32(k.word >> 48) })
		if parallel == nil {
			parallel = func(parts int, do func(int)) {
				for i := range parts {
					do(i)
				}
			}
		}
		parallel(1<<8, func(part int) { // the strings with this first byte
			for i := part << 8; i < (part+1)<<8; i++ {
				slices.SortFunc(keys[begin[i]:begin[i+1]], compare)
			}
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

func firstWord(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var word [8]byte
	copy(word[:], b)
	return binary.BigEndian.Uint64(word[:])
}
