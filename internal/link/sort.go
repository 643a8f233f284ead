package link

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/rules-btf/rules_btf/internal/types"
)

// sortStrings sorts strings bytewise, looking at eight bytes at a time.
func sortStrings(strs *types.Strings, list []types.Str) {
	keys := make([]stringKey, len(list))
	for i, s := range list {
		keys[i].str = s
	}
	sortFrom(strs, keys, 0)
	for i := range keys {
		list[i] = keys[i].str
	}
}

type stringKey struct {
	word uint64 // the eight bytes at the current depth, big-endian
	str  types.Str
}

// sortFrom sorts strings that are equal up to depth.
func sortFrom(strs *types.Strings, keys []stringKey, depth int) {
	if len(keys) < 12 {
		slices.SortFunc(keys, func(a, b stringKey) int {
			return bytes.Compare(strs.Bytes(a.str)[depth:], strs.Bytes(b.str)[depth:])
		})
		return
	}
	for i := range keys {
		b := strs.Bytes(keys[i].str)[depth:]
		if len(b) >= 8 {
			keys[i].word = binary.BigEndian.Uint64(b)
			continue
		}
		var w [8]byte
		copy(w[:], b)
		keys[i].word = binary.BigEndian.Uint64(w[:])
	}
	if len(keys) >= 1<<13 {
		radixSort(keys)
	} else {
		slices.SortFunc(keys, func(a, b stringKey) int { return cmp.Compare(a.word, b.word) })
	}
	for i := 0; i < len(keys); {
		j := i + 1
		for j < len(keys) && keys[j].word == keys[i].word {
			j++
		}
		if j-i > 1 { // equal words that end in a zero byte would be equal strings
			sortFrom(strs, keys[i:j], depth+8)
		}
		i = j
	}
}

// radixSort sorts by word, 11 bits at a time.
func radixSort(keys []stringKey) {
	const bits, mask = 11, 1<<11 - 1
	from, to := keys, make([]stringKey, len(keys))
	passes := 0
	for shift := 0; shift < 64; shift += bits {
		var at [mask + 2]uint32
		for i := range from {
			at[from[i].word>>shift&mask+1]++
		}
		for i := 1; i < len(at); i++ {
			at[i] += at[i-1]
		}
		for i := range from {
			d := from[i].word >> shift & mask
			to[at[d]] = from[i]
			at[d]++
		}
		from, to = to, from
		passes++
	}
	if passes%2 == 1 {
		copy(keys, from)
	}
}
