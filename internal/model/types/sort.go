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
		keys[i] = stringKey{wordAt(s.Bytes(id), 0), id}
	}
	sort := func(from, to int) {
		sortWords(keys[from:to], spare[from:to])
		sortBehind(s, keys[from:to], spare[from:to], 8)
	}
	if parallel == nil || len(keys) < 1<<14 {
		sort(0, len(keys))
	} else {
		const shares = 16
		parts := []int{0} // where they begin, and the last one ends
		for _, end := range byTwoBytes(keys, spare) {
			if last := parts[len(parts)-1]; int(end)-last >= len(keys)/shares ||
				int(end) == len(keys) && last < len(keys) {
				parts = append(parts, int(end))
			}
		}
		parallel(len(parts)-1, func(i int) { sort(parts[i], parts[i+1]) })
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

// sortBehind sorts strings that are sorted by the eight bytes before depth.
func sortBehind(strs *Strings, keys, spare []stringKey, depth int) {
	for i := 0; i < len(keys); {
		j := i + 1
		for j < len(keys) && keys[j].word == keys[i].word {
			j++
		}
		if j-i > 1 {
			sortFrom(strs, keys[i:j], spare[i:j], depth)
		}
		i = j
	}
}

// sortFrom sorts several strings that are equal up to depth.
func sortFrom(strs *Strings, keys, spare []stringKey, depth int) {
	for {
		for i := range keys {
			keys[i].word = wordAt(strs.Bytes(keys[i].str), depth)
		}
		sortWords(keys, spare)
		depth += 8
		switch first, last := keys[0].word, keys[len(keys)-1].word; {
		case first != last:
			sortBehind(strs, keys, spare, depth)
			return
		// only strings that hold zero bytes, as no name should, have no more to tell them apart
		case first == 0:
			slices.SortFunc(keys, func(a, b stringKey) int {
				return bytes.Compare(strs.Bytes(a.str), strs.Bytes(b.str))
			})
			return
		}
	}
}

// byTwoBytes sorts by the first two bytes of the words. It returns where each of the parts ends.
func byTwoBytes(keys, spare []stringKey) []uint32 {
	const shift = 48
	at := make([]uint32, 1<<16)
	for i := range keys {
		at[keys[i].word>>shift]++
	}
	begins(at)
	for _, k := range keys {
		p := &at[k.word>>shift]
		spare[*p] = k
		*p++
	}
	copy(keys, spare)
	return at
}

// begins makes of how many keys there are in each part where it begins.
func begins(at []uint32) {
	sum := uint32(0)
	for i, n := range at {
		at[i] = sum
		sum += n
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
	var at [64]uint32
	for i := range keys {
		at[keys[i].word>>shift&63]++
	}
	begins(at[:])
	spare = spare[:len(keys)]
	for _, k := range keys {
		p := &at[k.word>>shift&63]
		spare[*p] = k
		*p++
	}
	copy(keys, spare)
	if shift == 0 {
		return
	}
	start := uint32(0)
	for _, end := range at {
		if end-start > 1 {
			sortWords(keys[start:end], spare[start:end])
		}
		start = end
	}
}
