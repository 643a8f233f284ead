package inlines

import (
	"math/bits"
	"math/rand/v2"
)

// table is a hash table with open addressing. It finds the numbers of things by their content.
// Things are numbered in the order in which they were added.
type table struct {
	// A used slot has the high half of a thing's hash in its high half, and 1 + the thing's number
	// in its low half. A free slot is 0. The number of slots is a power of two.
	slots []uint64
	used  uint32
}

// find returns the number of the thing that has the hash and for which same returns true. If there
// is none, it returns the next number and true. The caller must then add a thing with this number.
func (t *table) find(hash uint64, same func(n uint32) bool) (n uint32, isNew bool) {
	if 2*int(t.used) >= len(t.slots) {
		t.grow()
	}
	high := hash >> 32 << 32
	i := t.start(hash)
	for ; t.slots[i] != 0; i = (i + 1) & (len(t.slots) - 1) {
		if slot := t.slots[i]; slot>>32<<32 == high && same(uint32(slot)-1) {
			return uint32(slot) - 1, false
		}
	}
	t.used++
	t.slots[i] = high | uint64(t.used)
	return t.used - 1, true
}

// start returns the index of the slot at which the search for a hash starts. The index depends only
// on the high half of the hash.
func (t *table) start(hash uint64) int { return int(hash >> (65 - bits.Len(uint(len(t.slots))))) }

func (t *table) grow() {
	old := t.slots
	t.slots = make([]uint64, max(1<<8, 2*len(old)))
	for _, slot := range old {
		if slot == 0 {
			continue
		}
		i := t.start(slot)
		for t.slots[i] != 0 {
			i = (i + 1) & (len(t.slots) - 1)
		}
		t.slots[i] = slot
	}
}

// pairs is a hash table with open addressing. It maps numbers of 64 bits to numbers of things.
type pairs struct {
	slots []pair // their number is a power of two
	used  int
}

type pair struct {
	key   uint64
	thing uint32 // 1 + the number; 0: the slot is free
}

// find returns the slot of a key. If the slot is free, the caller must fill it.
func (t *pairs) find(key uint64) *pair {
	slot := t.slot(key)
	if slot.thing != 0 {
		return slot
	}
	if 2*t.used >= len(t.slots) {
		old := t.slots
		t.slots = make([]pair, max(1<<8, 2*len(old)))
		for _, p := range old {
			if p.thing != 0 {
				*t.slot(p.key) = p
			}
		}
		slot = t.slot(key)
	}
	t.used++
	return slot
}

func (t *pairs) slot(key uint64) *pair {
	mask := len(t.slots) - 1
	if mask < 0 {
		return &pair{}
	}
	hash := hashWord(hashWord(hashSeed, uint32(key)), uint32(key>>32)) * 0x9e3779b97f4a7c15
	for i := int(hash>>32) & mask; ; i = (i + 1) & mask {
		if p := &t.slots[i]; p.thing == 0 || p.key == key {
			return p
		}
	}
}

// hashSeed makes hashes unpredictable, so that nobody can make input in which many things have the
// same hash. The numbers of things don't depend on hashes.
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
