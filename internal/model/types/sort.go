package types

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

// Sort sorts different strings bytewise. parallel calls do for each part from 0 on, on several
// threads; nil: there is one.
func (s *Strings) Sort(list []Str, parallel func(parts int, do func(part int))) {
	keys, spare := make([]stringKey, len(list)), make([]stringKey, len(list))
	for i, id := range list {
		keys[i].str = id
	}
	if parallel == nil || len(keys) < 1<<14 {
		sortFrom(s, keys, spare, 0)
	} else {
		var begin []uint32
		keys, begin = Buckets(keys, 1<<8, func(k stringKey) uint32 { return uint32(s.Bytes(k.str)[0]) })
		parallel(1<<8, func(first int) {
			from, to := begin[first], begin[first+1]
			sortFrom(s, keys[from:to], spare[from:to], 0)
		})
	}
	for i := range keys {
		list[i] = keys[i].str
	}
}

type stringKey struct {
	word uint64 // eight bytes of the string, big-endian
	str  Str
}

// wordAt returns the eight bytes of b from depth on, which may end before.
func wordAt(b []byte, depth int) uint64 {
	b = b[min(depth, len(b)):]
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	w := uint64(0)
	for i, c := range b {
		w |= uint64(c) << (56 - 8*i)
	}
	return w
}

// sortFrom sorts strings that are equal up to depth.
func sortFrom(strs *Strings, keys, spare []stringKey, depth int) {
	for i := range keys {
		keys[i].word = wordAt(strs.Bytes(keys[i].str), depth)
	}
	sortWords(keys, spare)
	for i := 0; i < len(keys); {
		j := i + 1
		for j < len(keys) && keys[j].word == keys[i].word {
			j++
		}
		switch same := keys[i:j]; {
		case len(same) == 1:
		case same[0].word&0xff == 0 || len(same) == len(keys): // the strings hold zero bytes, or are long
			slices.SortFunc(same, func(a, b stringKey) int {
				return bytes.Compare(strs.Bytes(a.str), strs.Bytes(b.str))
			})
		default:
			sortFrom(strs, same, spare[i:j], depth+8)
		}
		i = j
	}
}

// sortWords sorts by word: into parts by six bits, from the first one in which not all are equal;
// then each part.
func sortWords(keys, spare []stringKey) {
	if len(keys) <= 24 {
		for i := 1; i < len(keys); i++ {
			k, j := keys[i], i
			for ; j > 0 && keys[j-1].word > k.word; j-- {
				keys[j] = keys[j-1]
			}
			keys[j] = k
		}
		return
	}
	differ := uint64(0)
	for i := range keys {
		differ |= keys[i].word ^ keys[0].word
	}
	if differ == 0 {
		return
	}
	shift := max(0, bits.Len64(differ)-6) & 63
	var at [65]uint32
	for i := range keys {
		at[keys[i].word>>shift&63+1]++
	}
	for i := 1; i < 64; i++ {
		at[i] += at[i-1]
	}
	spare = spare[:len(keys)]
	for _, k := range keys {
		p := &at[k.word>>shift&63]
		spare[*p] = k
		*p++
	}
	copy(keys, spare)
	start := uint32(0)
	for _, end := range at[:64] {
		if end-start > 1 && shift > 0 {
			sortWords(keys[start:end], spare[start:end])
		}
		start = end
	}
}
