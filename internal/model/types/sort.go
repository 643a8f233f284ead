package types

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"
)

// Sort sorts distinct strings bytewise. The function parallel must call do for each part from 0 to
// parts-1, on any threads; if it is nil, Sort uses one thread.
func (s *Strings) Sort(list []Str, parallel func(parts int, do func(part int))) {
	if len(list) < 1<<12 {
		new(sorter).sort(s, list, list, 0)
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
		t := sorters.Get().(*sorter)
		defer sorters.Put(t)
		for b, end := first(part), first(part+1); b < end; b++ {
			if i, j := begin[b], begin[b+1]; i < j {
				t.sort(s, list[i:j], from[i:j], prefix)
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

// sorter has the memory that one thread needs for sorting.
type sorter struct{ keys, spare []stringKey }

var sorters = sync.Pool{New: func() any { return new(sorter) }}

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
// bytes; prefix says how many.
func (t *sorter) sort(s *Strings, list, from []Str, prefix int) {
	n := len(from)
	if n > len(t.keys) {
		room := max(n, 1<<11)
		t.keys, t.spare = make([]stringKey, room), make([]stringKey, room)
	}
	keys := t.keys[:n]
	for i, id := range from {
		keys[i].str = id
	}
	s.readWords(keys, prefix)
	s.sortKeys(keys, t.spare[:n], prefix, firstByte)
	for i := range keys {
		list[i] = keys[i].str
	}
}

// readWords sets the words of keys to the eight bytes at this offset in the strings.
func (s *Strings) readWords(keys []stringKey, at int) {
	for i := range keys {
		b := s.Bytes(keys[i].str)
		keys[i].word = word(b[min(at, len(b)):])
	}
}

const (
	firstByte = 56     // where a word's first byte is, in bits
	few       = 24     // keys that an insertion sort puts in order faster than a radix sort
	longest   = 1 << 8 // common prefixes of many strings are shorter, except in hostile input
)

// sortKeys sorts keys by the words, which are at this offset in the strings, and by the bytes after
// them. The strings are equal up to the byte at shift in the words. Many keys are divided by that
// byte, and then each part is sorted by the next byte. spare is as long as keys.
func (s *Strings) sortKeys(keys, spare []stringKey, at, shift int) {
	for ; len(keys) > few && at < longest; shift -= 8 {
		if shift < 0 {
			at, shift = at+8, firstByte
			s.readWords(keys, at)
		}
		var ends [256]uint32
		for i := range keys {
			ends[byte(keys[i].word>>shift)]++
		}
		if ends[byte(keys[0].word>>shift)] == uint32(len(keys)) {
			continue
		}
		sum := uint32(0)
		for b, n := range ends {
			ends[b], sum = sum, sum+n
		}
		copy(spare, keys)
		for _, k := range spare {
			end := &ends[byte(k.word>>shift)]
			keys[*end] = k
			*end++
		}
		begin := uint32(0)
		for _, end := range ends {
			if end > begin+1 {
				s.sortKeys(keys[begin:end], spare[begin:end], at, shift-8)
			}
			begin = end
		}
		return
	}
	if len(keys) > few {
		slices.SortFunc(keys, func(a, b stringKey) int {
			return bytes.Compare(s.Bytes(a.str), s.Bytes(b.str))
		})
		return
	}
	for i := 1; i < len(keys); i++ {
		k, j := keys[i], i
		for ; j > 0 && s.precedes(k, keys[j-1]); j-- {
			keys[j] = keys[j-1]
		}
		keys[j] = k
	}
}

// precedes reports whether a comes before b. The strings are equal up to the bytes in their words.
func (s *Strings) precedes(a, b stringKey) bool {
	if a.word != b.word {
		return a.word < b.word
	}
	return bytes.Compare(s.Bytes(a.str), s.Bytes(b.str)) < 0
}
