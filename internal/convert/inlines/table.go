package inlines

import (
	"math/bits"
	"math/rand/v2"
)

// table finds things by their content, with open addressing. Things have numbers, in the order in
// which they were added.
type table struct {
	slots []uint32 // 1 + the number of a thing, or 0; the length is a power of two
	used  int
}

// find returns the slot of the thing with a hash and for which same returns true. If there is none,
// the slot has 0, and the caller must write 1 + the number of the new thing into it.
func (t *table) find(hash uint64, same func(n uint32) bool, hashOf func(n uint32) uint64) *uint32 {
	if 2*t.used >= len(t.slots) {
		t.grow(hashOf)
	}
	for i := t.start(hash); ; i = (i + 1) & (len(t.slots) - 1) {
		slot := &t.slots[i]
		if *slot == 0 {
			t.used++
			return slot
		}
		if same(*slot - 1) {
			return slot
		}
	}
}

// start returns the index of the slot at which the search for a hash starts.
func (t *table) start(hash uint64) int { return int(hash >> (65 - bits.Len(uint(len(t.slots))))) }

func (t *table) grow(hashOf func(n uint32) uint64) {
	old := t.slots
	t.slots = make([]uint32, max(1<<8, 2*len(old)))
	for _, n := range old {
		if n == 0 {
			continue
		}
		i := t.start(hashOf(n - 1))
		for t.slots[i] != 0 {
			i = (i + 1) & (len(t.slots) - 1)
		}
		t.slots[i] = n
	}
}

// hashSeed makes hashes unpredictable, so that input can't have many of the same hash. The numbers of
// things don't depend on hashes.
var hashSeed = rand.Uint64()

// hashWord adds a word to a hash. The high bits depend on all words.
func hashWord(hash uint64, word uint32) uint64 {
	hash = (hash ^ uint64(word)) * 0x9e3779b97f4a7c15
	return hash ^ hash>>32
}

func hashWords(words []uint32) uint64 {
	hash := hashSeed
	for _, w := range words {
		hash = hashWord(hash, w)
	}
	return hash * 0x9e3779b97f4a7c15
}

func (l *Location) hash() uint64 {
	hash := hashWord(hashWord(hashSeed, l.Size), l.Flags)
	for _, v := range l.Values {
		hash = hashWord(hash, v)
	}
	return hash * 0x9e3779b97f4a7c15
}
