package dwarf

import "github.com/rules-btf/rules_btf/internal/support/pages"

// printTable holds the fingerprints of a unit's types by offset. It is emptied in constant time.
type printTable struct {
	slots []printSlot
	used  int
	gen   uint64 // generation: new for each unit; it is in the upper half of the keys
}

type printSlot struct {
	key uint64 // printTable.gen | offset
	fp  Fingerprint
}

func (t *printTable) reset() {
	if t.slots == nil {
		t.slots = make([]printSlot, 1<<6)
	}
	t.used = 0
	if t.gen += 1 << 32; t.gen == 0 {
		clear(t.slots)
		t.gen = 1 << 32
	}
}

// printShift is so small that nearly every type gets its own slot, near its neighbours' slots.
const printShift = 2

// nearProbes is how many adjacent slots are tried before others. In a hostile unit, each byte may
// be a type. If only adjacent slots were tried, such a unit would take quadratic time.
const nearProbes = 8

// slot returns the slot that holds off, with known set, or else the free slot for off.
func (t *printTable) slot(off uint32) (s *printSlot, known bool) {
	if s = &t.slots[int(off>>printShift)&(len(t.slots)-1)]; s.key == t.gen|uint64(off) {
		return s, true
	}
	return t.search(off)
}

// search is like slot, without the shortcut for most types.
func (t *printTable) search(off uint32) (s *printSlot, known bool) {
	mask, key := uint32(len(t.slots)-1), t.gen|uint64(off)
	for i, n := off>>printShift, 0; ; n++ {
		if s = &t.slots[i&mask]; s.key == key {
			return s, true
		} else if s.key < t.gen {
			return s, false
		}
		i++
		if n >= nearProbes {
			i += off * 0x9e3779b1 >> 7 << 1 // an odd step in all, so that each slot is tried
		}
	}
}

// put stores off and fp in the free slot s. It may move the table, so pointers to slots may become
// invalid.
func (t *printTable) put(s *printSlot, off uint32, fp Fingerprint) {
	*s = printSlot{t.gen | uint64(off), fp}
	if t.used++; t.used*3 <= len(t.slots)*2 {
		return
	}
	old := t.slots
	t.slots = pages.Make[printSlot](2 * len(old))
	for i := range old {
		if s := &old[i]; s.key >= t.gen {
			free, _ := t.slot(uint32(s.key))
			*free = *s
		}
	}
}
